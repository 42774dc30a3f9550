with gone as (delete from server_process where seen_at < clock_timestamp() - interval '1 hour')

insert into server_process (id) values ($1)
on conflict (id) do update set seen_at = clock_timestamp()
