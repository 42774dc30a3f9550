select * from contact_shown where brand_id = $1 and id = $2
