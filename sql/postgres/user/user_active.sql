select id, email
from app_user
where id = $1 and disabled_at is null
