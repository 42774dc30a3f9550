update short_link set taken_back = $3
where brand_id = $1 and id = $2
