insert into campaign_version (brand_id, campaign_id, version, definition, created_by)
values ($1, $2, $3, $4, $5)
