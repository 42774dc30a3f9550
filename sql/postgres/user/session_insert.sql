insert into web_session (id, user_id, brand_id, expires_at)
values ($1, $2, $3, now() + make_interval(secs => $4))
