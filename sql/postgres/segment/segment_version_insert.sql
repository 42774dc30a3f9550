insert into segment_version (brand_id, segment_id, version, id, definition, created_by, refers_to)
values ($1, $2, $3, $4, $5, $6, $7)
