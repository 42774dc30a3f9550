update lake_brand set erasures = erasures + 1 where brand_id = $1
