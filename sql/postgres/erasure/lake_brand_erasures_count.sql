-- Results from before are no longer as they should be: the next refresh publishes, whatever else changed.
update lake_brand set erasures = erasures + 1
where brand_id = $1
