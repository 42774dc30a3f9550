-- By a session that is there still. The user and the membership are locked first, as by whoever ends sign-ins.
with holder as materialized (
    select app_user.id
    from app_user
    join membership on membership.user_id = app_user.id
    where app_user.id = $2 and app_user.disabled_at is null and membership.brand_id = $3
    for share
)

insert into sign_in_grant (id, user_id, brand_id, client_id, expires_at)
select $1, holder.id, $3, $4, now() + make_interval(secs => $5)
from holder
join web_session on web_session.user_id = holder.id
where web_session.id = $6 and web_session.expires_at > now()
for share of web_session
