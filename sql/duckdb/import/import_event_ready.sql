-- Properties that the mapping sets one by one join those that the file has.
update picked
set properties = json_merge_patch(coalesce(properties, '{}'), extra_properties)
where extra_properties is not null;

insert into fault (n, field, value, reason)
select n, 'properties', left(properties, 200), 'is larger than 64 KB'
from picked
where strlen(properties) > 65536 and n not in (select n from fault);

insert into fault (n, field, value, reason)
select n, 'customer_external_id', null, 'the event names nobody: customer_external_id, profile_id, email, phone or anonymous_id'
from picked
left join email on email.given = picked.email
left join phone on phone.given = picked.phone
where
    coalesce(customer_external_id, profile_id, anonymous_id, email.address, phone.number) is null
    and n not in (select n from fault);

-- An event without an id gets one from what it says, so that the same file again adds nothing; equal rows are counted,
-- since two equal events are two. Chunks follow the row numbers of the file: they are what import_chunk remembers.
create table ready as
with good as (
    select * exclude (fault, extra_properties), ((n - 1) // getvariable('rows_per_chunk')::bigint)::integer as chunk
    from picked
    where n not in (select n from fault)
),

hashed as (
    select * exclude (event_id), 'import-' || md5(concat_ws(
        chr(31), event_type, epoch_us(occurred_at) - getvariable('shift_us')::bigint, coalesce(customer_external_id, ''),
        coalesce(profile_id, ''), coalesce(email, ''), coalesce(phone, ''), coalesce(anonymous_id, ''), coalesce(properties, '')
    )) as content
    from good
    where event_id is null
)

from good
where event_id is not null
union all by name
select * exclude (content, copy), content || case when copy > 1 then '-' || copy else '' end as event_id
from (select *, row_number() over (partition by content order by n) as copy from hashed)
order by n;

-- Of rows with one id the lake keeps the first: `first` is its number.
create table repeated_row as
with repeated as (
    select event_id, min(n) as first
    from ready
    group by event_id
    having count(*) > 1
)

select n, chunk, first
from ready
join repeated using (event_id)
order by n;
