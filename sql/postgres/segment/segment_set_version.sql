-- Why the version before could not be evaluated says nothing of this one.
update segment set version = $3, current_version_id = $4, updated_at = now(), error = null
where brand_id = $1 and id = $2
