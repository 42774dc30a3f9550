-- What the store says to the token of $2; one that came since has its own status.
update store_connection
set status = case when $3::text is null then 'connected' else 'refused' end, error = $3
where brand_id = $1 and token_at = $2::timestamptz and status <> 'disconnected' and error is distinct from $3::text
