select sign_in_grant.id as standing_id, sign_in_grant.expires_at, sign_in_grant.client_id, good_standing.*
from sign_in_grant
join good_standing on good_standing.user_id = sign_in_grant.user_id and good_standing.id = sign_in_grant.brand_id
where sign_in_grant.id = $1 and sign_in_grant.expires_at > now()
