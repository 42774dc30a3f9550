insert into oidc_record (model, id, content, grant_id, uid, expires_at)
values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
on conflict (model, id) do update
set
    content = excluded.content,
    grant_id = excluded.grant_id,
    uid = excluded.uid,
    expires_at = excluded.expires_at
