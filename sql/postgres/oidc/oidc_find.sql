select id, content, consumed_at
from oidc_record
where model = $1 and id = $2 and (expires_at is null or expires_at > now())
