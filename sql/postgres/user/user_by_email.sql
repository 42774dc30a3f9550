select id, email, password_hash, is_staff, disabled_at
from app_user
where email = $1
