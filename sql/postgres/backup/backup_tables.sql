-- Tables of ours, each after those that it refers to.
with recursive tables as (
    select oid, relname
    from pg_class
    where
        relnamespace = 'public'::regnamespace
        and relkind in ('r', 'p')
        and not relispartition
        and relname <> 'schema_migrations'
),

parents as (
    select distinct conrelid as child, confrelid as parent
    from pg_constraint
    where contype = 'f' and conrelid <> confrelid
),

depths as (
    select oid, 0 as depth
    from tables
    where oid not in (select child from parents)
    union all
    select child, depth + 1
    from depths
    join parents on parent = depths.oid
)

select quote_ident(relname) as name
from tables
join depths using (oid)
group by relname
order by max(depth), relname
