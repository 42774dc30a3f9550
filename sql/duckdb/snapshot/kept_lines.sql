-- Living lines whose event id is new: the first in commit order wins, against this tick and the last 14 days. Those that
-- are left out are few: to find a line among them takes less than among all others.
create view living as
from lines
anti join dead using (n)
where not erased;

-- Two 64-bit hashes stand for (brand, event id): one alone could drop a different event by chance.
create table line_ids as
select
    n,
    hash(brand_id || ' ' || event_id) as id_hash,
    hash(event_id || '|' || brand_id) as id_check,
    received_at::date as received_on
from living
where event_id is not null;

create table left_out as
with repeated as (
    select
        id_hash,
        id_check,
        min(n) as first_n
    from line_ids
    group by id_hash, id_check
    having count(*) > 1
)

select n
from lines
where erased
union all
from dead
union all
select n
from line_ids
semi join seen using (id_hash, id_check)
union all
select n
from line_ids
join repeated using (id_hash, id_check)
where n > first_n;

create view kept as
from lines
anti join left_out using (n)
