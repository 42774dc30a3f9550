select id from segment
where brand_id = $1 and status = 'active' and segment_name_key(name) = segment_name_key($2)
