update lake_brand set cut_ticks = cut_ticks || jsonb_build_object($2::text, $4::bigint)
where brand_id = $1 and coalesce((cut_ticks ->> $2::text)::bigint, 0) = $3::bigint and erasures = $5
