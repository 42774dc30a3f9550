delete from served_generation
where brand_id = $1
