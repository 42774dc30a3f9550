update app_user
set is_staff = true
where id = $1 and not is_staff
