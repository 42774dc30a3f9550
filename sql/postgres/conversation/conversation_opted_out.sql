update conversation set opted_out_at = $3, updated_at = now()
where brand_id = $1 and id = $2
