delete from web_session
where id = $1
