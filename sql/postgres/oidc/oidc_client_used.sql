update oidc_record
set used_at = now()
where model = 'Client' and id = sha256(convert_to($1, 'UTF8'))
