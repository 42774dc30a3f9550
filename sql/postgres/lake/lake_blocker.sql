-- The oldest open write transaction of the cluster. Of other users' ones, only monitors see since when.
select pid, null as gid, datname, extract(epoch from now() - xact_start)::integer as seconds, age(backend_xid) as age
from pg_stat_activity
where backend_xid is not null and pid <> pg_backend_pid()
union all
select null, gid, database, extract(epoch from now() - prepared)::integer, age(transaction)
from pg_prepared_xacts
order by age desc
limit 1
