-- One of those who try at the same moment succeeds.
update oidc_record
set consumed_at = now()
where model = $1 and id = $2 and consumed_at is null
