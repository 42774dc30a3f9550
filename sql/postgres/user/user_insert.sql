insert into app_user (id, email, password_hash, is_staff)
values ($1, $2, $3, $4)
on conflict (email) do nothing
