insert into lake_file
    (brand_id, relation, path, level, schema_version, rows, bytes, tick_lo, tick_hi, occurred_lo, occurred_hi, sha256,
    created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, coalesce($13, now()))
returning id
