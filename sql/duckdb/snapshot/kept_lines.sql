-- Living lines whose event id is new: the first in commit order wins, against this tick and the last 14 days.
-- Two 64-bit hashes stand for (brand, event id): one alone could drop a different event by chance.
create table kept as
with living as (
    select
        n,
        event_id is not null as has_id,
        hash(brand_id::varchar || ' ' || event_id) as id_hash,
        hash(event_id || '|' || brand_id::varchar) as id_check
    from lines
    where not erased and n not in (from dead)
),

first_of_tick as (
    select min(n) as n, id_hash, id_check
    from living
    where has_id
    group by id_hash, id_check
)

select first_of_tick.n, id_hash, id_check
from first_of_tick
anti join seen using (id_hash, id_check)
union all
select n, null as id_hash, null as id_check
from living
where not has_id
