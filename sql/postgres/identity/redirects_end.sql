-- The row stays, so that the lake learns of it.
update subject_redirect
set deleted = true
where brand_id = $1 and subject = any($2::integer[])
