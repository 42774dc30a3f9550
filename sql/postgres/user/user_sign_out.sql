-- Everywhere: in browsers and in clients.
with sessions as (delete from web_session where user_id = $1)

delete from sign_in_grant
where user_id = $1
