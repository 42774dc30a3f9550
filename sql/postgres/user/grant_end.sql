delete from sign_in_grant
where id = $1
