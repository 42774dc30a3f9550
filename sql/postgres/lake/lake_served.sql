select generation, served_path from lake_brand where brand_id = $1
