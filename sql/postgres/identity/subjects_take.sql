update brand
set next_subject = next_subject + $2::integer
where id = $1
returning next_subject - $2::integer as first
