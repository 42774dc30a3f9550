-- One row per line of the batches, in log order. Every field is text here: a cast that fails must not stop its neighbours.
create or replace table line_rows as
select
    -- Text as well: a million lines are of a few brands.
    brand_id,
    -- Ids of pages are a space of their own, and so are those of the service: whoever makes one up must not take the
    -- place of an event that is to come.
    case
        when origin is not null then origin || ':' || event_id
        when event_id like 'browser:%' or event_id like 'service:%' or event_id like 'sender:%' then 'sender:' || event_id
        else event_id
    end as event_id,
    event_type,
    try(make_timestamp(try_cast(received_at as bigint) * 1000)) as received_at,
    try(make_timestamp(try_cast(occurred_at as bigint) * 1000)) as occurred_at,
    nullif(store_customer_id, '') as store_customer_id,
    nullif(profile_id, '') as profile_id,
    nullif(email, '') as email,
    nullif(phone, '') as phone,
    nullif(anonymous_id, '') as anonymous_id,
    -- Anyone can forge what a browser sends.
    coalesce(origin = 'browser', false) as by_browser,
    properties,
    -- A line that was erased keeps its place, so that the others keep their numbers.
    erased is not null as erased,
    -- One text per identity as sent: what subjects are looked up by.
    concat_ws(chr(31), brand_id, store_customer_id, profile_id, email, phone, anonymous_id, (store_customer_id is null)::int8
        + 2 * (profile_id is null)::int8 + 4 * (email is null)::int8 + 8 * (phone is null)::int8
        + 16 * coalesce(origin = 'browser', false)::int8) as identity
from read_ndjson(
    getvariable('lines_path'),
    columns = {
        brand_id: 'VARCHAR', event_id: 'VARCHAR', event_type: 'VARCHAR', received_at: 'VARCHAR', occurred_at: 'VARCHAR',
        profile_id: 'VARCHAR', anonymous_id: 'VARCHAR', email: 'VARCHAR', phone: 'VARCHAR', store_customer_id: 'VARCHAR',
        origin: 'VARCHAR', properties: 'JSON', erased: 'VARCHAR'
    }
);

-- The rows are in the order of the file; numbered by a window function it would be read by one thread.
create or replace view lines as select rowid as n, * from line_rows
