select coalesce((select generation > 0 from lake_brand where brand_id = $1), false) as some
