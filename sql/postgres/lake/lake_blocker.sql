select pid, datname, extract(epoch from now() - xact_start)::integer as seconds
from pg_stat_activity
where backend_xid is not null and pid <> pg_backend_pid()
order by age(backend_xid) desc
limit 1
