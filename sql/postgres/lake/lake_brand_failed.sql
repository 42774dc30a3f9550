update lake_brand set failures = failures + 1, error = $2
where brand_id = $1
