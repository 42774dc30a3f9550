insert into served_generation
(brand_id, generation, base_path, changes_path, models_base_path, models_changes_path, models_sums_path)
values ($1, $2, $3, $4, $5, $6, $7)
