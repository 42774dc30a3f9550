-- Without those that could not be removed just now ($3).
select id, path from lake_file
where retired_at < now() - make_interval(hours => $1) and id <> all($3::bigint[])
order by retired_at
limit $2
