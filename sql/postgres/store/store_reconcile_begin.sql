update store_connection
set reconcile_began_at = now()
where brand_id = $1
