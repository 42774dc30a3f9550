-- Visitors that a browser said belong to somebody, of whom a better source knows now.
update merge
set undone_at = now(), undone_by = 'a better source'
where brand_id = $1 and from_subject = any($2::integer[]) and undone_at is null
