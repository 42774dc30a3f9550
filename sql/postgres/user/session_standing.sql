select web_session.id as standing_id, web_session.expires_at, null as client_id, good_standing.*
from web_session
join good_standing on good_standing.user_id = web_session.user_id and good_standing.id = web_session.brand_id
where web_session.id = $1 and web_session.expires_at > now()
