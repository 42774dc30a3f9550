update lake_file set retired_at = now()
where id = any ($1::bigint[]) and retired_at is null
