update lake_brand set definitions_version = definitions_version + 1
where brand_id = $1
