delete from dead_letter
where brand_id = $1 and id = $2
