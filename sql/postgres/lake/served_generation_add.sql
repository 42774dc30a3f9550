-- The newest generation; from now on the earlier ones are kept for cursors only.
with replaced as (
    update served_generation set replaced_at = now()
    where brand_id = $1 and generation < $2 and replaced_at is null
)

insert into served_generation
(brand_id, generation, base_path, changes_path, models_base_path, models_changes_path, models_sums_path, members_path)
values ($1, $2, $3, $4, $5, $6, $7, $8)
