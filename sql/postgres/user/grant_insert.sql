insert into sign_in_grant (id, user_id, brand_id, client_id, expires_at)
values ($1, $2, $3, $4, now() + make_interval(secs => $5))
