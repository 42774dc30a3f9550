update lake_brand
set difference = jsonb_build_object('at', now(), 'memberships', $2::bigint, 'customers', $3::bigint)
where brand_id = $1
