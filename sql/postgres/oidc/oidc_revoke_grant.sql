delete from oidc_record
where model = $1 and grant_id = $2
