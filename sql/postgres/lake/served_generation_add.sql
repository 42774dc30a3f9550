insert into served_generation (brand_id, generation, base_path, changes_path)
values ($1, $2, $3, $4)
