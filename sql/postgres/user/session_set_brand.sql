update web_session
set brand_id = $2
where id = $1
