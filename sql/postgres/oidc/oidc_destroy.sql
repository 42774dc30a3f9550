delete from oidc_record
where model = $1 and id = $2
