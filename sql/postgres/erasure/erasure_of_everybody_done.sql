delete from erasure
where brand_id = $1 and id = $2
