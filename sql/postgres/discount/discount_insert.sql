insert into discount (brand_id, id, name, type, value, code, prefix, minimum_type, minimum_value, duration_days)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
