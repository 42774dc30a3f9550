delete from attribution_behind
where brand_id = $1
