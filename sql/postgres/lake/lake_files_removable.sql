select id, path from lake_file
where retired_at < now() - make_interval(hours => $1)
order by retired_at
limit $2
