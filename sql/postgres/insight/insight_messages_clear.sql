delete from insight_message where brand_id = $1
