insert into lake_brand (brand_id) values ($1)
