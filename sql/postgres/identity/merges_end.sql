update merge
set undone_at = now(), undone_by = $3
where brand_id = $1 and id = any($2::uuid[]) and undone_at is null
