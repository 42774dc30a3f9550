-- Living lines whose event id is new: the first in commit order wins, against this tick and the last 14 days.
-- Two 64-bit hashes stand for (brand, event id): one alone could drop a different event by chance.
create table fresh as
with hashed as (
    select
        lines.*,
        hash(brand_id::varchar || ' ' || event_id) as id_hash,
        hash(event_id || '|' || brand_id::varchar) as id_check
    from lines
    where n not in (select n from dead)
),

first_of_tick as (
    select * exclude (repeat)
    from (
        select *, case when event_id is null then 1 else row_number() over (partition by id_hash, id_check order by n) end as repeat
        from hashed
    )
    where repeat = 1
)

select
    first_of_tick.*,
    concat_ws(
        chr(31), brand_id::varchar, coalesce(store_customer_id, ''), coalesce(profile_id, ''), coalesce(email, ''),
        coalesce(phone, ''), coalesce(anonymous_id, '')
    ) as identity
from first_of_tick
anti join seen on first_of_tick.id_hash = seen.id_hash and first_of_tick.id_check = seen.id_check
