select app_user.email, membership.role, app_user.is_staff, app_user.disabled_at, app_user.id as user_id
from membership
join app_user on app_user.id = membership.user_id
where membership.brand_id = $1
order by app_user.email
