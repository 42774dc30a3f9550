with sessions as (delete from web_session where expires_at < now())

delete from sign_in_grant
where expires_at < now()
