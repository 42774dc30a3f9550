-- No row where the password is another one by now: whoever set it ended all sessions. By the lock one waits for the other.
insert into web_session (id, user_id, brand_id, expires_at)
select $1, id, $3, now() + make_interval(secs => $4)
from app_user
where id = $2 and password_hash = $5 and disabled_at is null
for share
