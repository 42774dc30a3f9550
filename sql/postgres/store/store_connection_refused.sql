update store_connection
set status = case when $2::text is null then 'connected' else 'refused' end, error = $2
where brand_id = $1 and status <> 'disconnected' and error is distinct from $2::text
