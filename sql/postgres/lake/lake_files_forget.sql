delete from lake_file where id = any ($1::bigint[])
