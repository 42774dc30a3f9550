-- Other rules may be the end of what failed.
update lake_brand set definitions_version = definitions_version + 1, retry_at = null
where brand_id = $1
