-- what: properties that events set on a profile, each as it was set last, under the customer that it belongs to now
-- grain: customer, name
-- refresh: at every read

-- Whatever an updateProperties event carries is set. Contact data is no part of it: the lake keeps that in customers.
-- A name that was set to null last is not set. One request's events share their receipt; their lines are in order.
with named as (
    select
        coalesce(redirect.customer, event.subject) as customer,
        event.occurred_at,
        { 'received_at': event.received_at, 'batch_id': event.batch_id, 'line': event.line } as received,
        unnest(map_entries(try_cast(event.properties as map(varchar, json)))) as entry
    from events as event
    cross join params
    left join subject_redirect as redirect using (subject)
    where event.event_type = 'updateProperties'
        and event.occurred_at <= params.as_of
),

latest as (
    select
        customer,
        entry.key as name,
        max_by(
            { 'json': entry.value, 'set_at': occurred_at },
            { 'occurred_at': occurred_at, 'received': received }
        ) as given
    from named
    where customer is not null
        and entry.key != ''
    group by customer, entry.key
)

select
    customer,
    name,
    case json_type(given.json)
        when 'VARCHAR' then 'string'
        when 'BOOLEAN' then 'boolean'
        when 'ARRAY' then 'list'
        when 'OBJECT' then 'object'
        else 'number'
    end as kind,
    -- Of a list or an object, its JSON.
    given.json ->> '$' as value,
    -- What the comparisons of a property with several values look at; of a single one, that one.
    case json_type(given.json)
        when 'ARRAY' then coalesce(given.json ->> '$[*]', [])
        when 'OBJECT' then []
        else [given.json ->> '$']
    end as elements,
    try_cast(given.json ->> '$' as decimal(28, 6)) as number,
    -- Its elements as numbers.
    list_transform(elements, lambda element: try_cast(element as decimal(28, 6))) as numbers,
    -- A time without a zone is UTC, which is the zone of the session. Beyond these years windows cannot be reckoned.
    case
        when try_cast(given.json ->> '$' as timestamptz) between '0001-01-01' and '9999-12-31'
            then try_cast(given.json ->> '$' as timestamptz) at time zone 'UTC'
    end as moment,
    given.set_at
from latest
where given.json is not null
