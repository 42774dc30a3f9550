update data_request
set answered_at = now()
where brand_id = $1 and id = $2
