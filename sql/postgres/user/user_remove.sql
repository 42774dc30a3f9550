-- Who belongs to no brand any more.
delete from app_user
where id = $1 and not exists (select from membership where membership.user_id = $1)
