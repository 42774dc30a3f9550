-- what: the properties of profiles that events set last, 250 names and 16 KB of each at most, under the customer that it belongs to now
-- grain: customer, name
-- refresh: at every read
-- from: events where event_type = 'updateProperties'

-- Whatever an updateProperties event carries is set. Contact data is no part of it: the lake keeps that in customers.
-- A name that was set to null last is not set. One request's events share their receipt; their lines are in order.
-- Anyone can send events of a page, so what they set has bounds: an event with more than 16 KB of properties sets nothing,
-- and of a profile those 250 names count that were set last, as far as they come to 16 KB. What max_by and list gather has
-- to fit into memory, what windows look at has not.
with named as (
    select
        coalesce(redirect.customer, event.subject) as customer,
        event.occurred_at,
        event.received_at,
        event.batch_id,
        event.line,
        unnest(map_entries(try_cast(event.properties as map(varchar, json)))) as entry
    from events as event
    cross join params
    left join subject_redirect as redirect using (subject)
    where event.event_type = 'updateProperties'
        and event.occurred_at <= params.as_of
        -- Before anything is unpacked, which takes ten times the memory of the text.
        and strlen(event.properties::varchar) <= 16384
),

latest as (
    select
        customer,
        entry.key as name,
        entry.value as json_value,
        occurred_at as set_at,
        received_at,
        batch_id,
        line
    from named
    where customer is not null
        and entry.key != ''
    qualify row_number() over (
        partition by customer, entry.key
        order by occurred_at desc, received_at desc, batch_id desc, line desc
    ) = 1
),

newest as (
    select
        customer,
        name,
        json_value,
        set_at
    from latest
    where json_value is not null
    window newest_first as (
        partition by customer
        order by set_at desc, received_at desc, batch_id desc, line desc, name
        rows unbounded preceding
    )
    qualify row_number() over newest_first <= 250
        and sum(strlen(name) + strlen(json_value::varchar)) over newest_first <= 16384
),

-- A time without a zone is UTC, and read as TIMESTAMP: as TIMESTAMPTZ it would have the zone of a row before it. Zones
-- are offsets or names such as Europe/Berlin; of abbreviations that several share DuckDB knows others than are meant.
timed as (
    select
        *,
        case
            -- Only what begins with a digit: to find that a text is no time takes half a microsecond.
            when not coalesce(said >= '0' and said < ':', false) then null
            when regexp_matches(said, '(?i)^[0-9]+([^a-z0-9:+][0-9]+){2}([ t]+[0-9:.]+)?$')
                then try_cast(upper(said) as timestamp)
            -- Offsets to 15:59, as far as PostgreSQL reads: DuckDB takes 99 hours.
            when regexp_matches(
                said,
                '(?i)^[0-9]+([^a-z0-9:+][0-9]+){2}[ t]+[0-9:.]+\s*(z|(utc|gmt)?\s*[+-]([0-9](:[0-5][0-9])?|(0[0-9]|1[0-5])(:?[0-5][0-9](:[0-5][0-9])?)?)|utc|gmt|[a-z_]+/[a-z0-9_/+-]+)$'
            )
                then try_cast(
                    -- What DuckDB does not read: a zone behind minutes, UTC without a space before it, an offset behind a
                    -- space or GMT, and one of a single digit.
                    upper(said)
                    .regexp_replace('([ T][0-9]+:[0-9]+)(\s*[A-Z+-])', '\1:00\2')
                    .regexp_replace('([0-9:.])\s*(UTC|GMT|Z)$', '\1Z')
                    .regexp_replace('([0-9:.])\s*(UTC|GMT)?\s*([+-][0-9:]+)$', '\1\3')
                    .regexp_replace('([0-9:.][+-])([0-9](:[0-9]+)?)$', '\10\2') as timestamptz
                ) at time zone 'UTC'
        end as said_at
    from (
        select
            *,
            trim(json_value ->> '$', E' \t\r\n') as said
        from newest
    )
)

select
    customer,
    name,
    case json_type(json_value)
        when 'VARCHAR' then 'string'
        when 'BOOLEAN' then 'boolean'
        when 'ARRAY' then 'list'
        when 'OBJECT' then 'object'
        else 'number'
    end as kind,
    json_value,
    -- Of a list or an object, its JSON.
    json_value ->> '$' as value,
    -- What the comparisons of a property with several values look at; of a single one, that one.
    case json_type(json_value)
        when 'ARRAY' then coalesce(json_value ->> '$[*]', [])
        when 'OBJECT' then []
        else [json_value ->> '$']
    end as elements,
    try_cast(json_value ->> '$' as decimal(38, 16)) as number,
    -- Its elements as numbers. What there is no room for is more, or less, than whatever it is compared with.
    list_transform(
        elements,
        lambda element: coalesce(
            try_cast(element as decimal(38, 16)),
            case
                when isfinite(try_cast(element as double))
                    then sign(try_cast(element as double)) * 9999999999999999999999.9999999999999999::decimal(38, 16)
            end
        )
    ) as numbers,
    -- Beyond these years windows cannot be reckoned.
    case when said_at between '0001-01-01' and '9999-12-31' then said_at end as moment,
    set_at
from timed
