-- The refresh found nothing to publish: only its time moves.
update lake_brand
set refreshed_tick = $3, as_of = $4, refreshed_definitions_version = $5, refreshed_at = now(), refresh_ms = $6, next_change_at = $8::text::timestamptz
where brand_id = $1 and generation = $2 and erasures = $7
