insert into segment_version (brand_id, segment_id, version, id, definition, created_by)
values ($1, $2, $3, $4, $5, $6)
