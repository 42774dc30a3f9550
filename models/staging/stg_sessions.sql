-- what: visits: the events of one browser session, or of one visitor's pages with no more than 30 minutes between them
-- grain: customer, session_id
-- refresh: at every read

-- Only events of pages make a visit: those that name a session, a page address or a path. Where the sender names no
-- session the first event of a visit names it.
with seen as (
    select
        customer,
        subject,
        session_id,
        event_id,
        occurred_at,
        -- A number, since columns are looked up many times by it. Events at one instant are in the order of their receipt
        -- and, as a request's share theirs, of their lines. Times before 1970 are negative, which `<<` takes for an overflow.
        epoch_us(occurred_at)::hugeint * 18446744073709551616 + coalesce(epoch_ms(received_at) * 1048576 + line, 0) as place,
        url,
        path,
        coalesce(url, path) is not null as is_page,
        referrer,
        landing_page,
        utm_source,
        utm_medium,
        utm_campaign,
        utm_term,
        utm_content,
        -- Few events name one, and to read the JSON of all of them takes longer than all else.
        case when contains(properties::varchar, '"device"') then properties ->> '$.device' end as device
    from stg_events
    where customer is not null
        and coalesce(session_id, url, path) is not null
),

begun as (
    select
        *,
        coalesce(occurred_at - lag(occurred_at) over visitor > interval 30 minutes, true) as begins
    from seen
    where session_id is null
    window visitor as (partition by subject order by place)
),

named as (
    select
        * exclude (session_id),
        session_id as visit,
        false as by_pauses
    from seen
    where session_id is not null
    union all by name
    select
        * exclude (session_id, begins),
        last_value(case when begins then event_id end ignore nulls) over (
            partition by subject
            order by place
            rows between unbounded preceding and current row
        ) as visit,
        true as by_pauses
    from begun
)

select
    customer,
    visit as session_id,
    bool_and(by_pauses) as by_pauses,
    -- As it was sent: what pauses make is of one browser.
    case when bool_and(by_pauses) then min(subject) end as visitor,
    min(occurred_at) as started_at,
    max(occurred_at) as ended_at,
    date_sub('second', min(occurred_at), max(occurred_at)) as duration_seconds,
    count(*)::integer as events,
    -- Of one page, the first: a campaign or referrer that it does not name is none of its own.
    arg_min_null(url, place) filter (is_page) as entry_url,
    arg_min_null(path, place) filter (is_page) as entry_path,
    arg_min_null(referrer, place) filter (is_page) as referrer,
    arg_min_null(landing_page, place) filter (is_page) as landing_page,
    arg_min_null(utm_source, place) filter (is_page) as utm_source,
    arg_min_null(utm_medium, place) filter (is_page) as utm_medium,
    arg_min_null(utm_campaign, place) filter (is_page) as utm_campaign,
    arg_min_null(utm_term, place) filter (is_page) as utm_term,
    arg_min_null(utm_content, place) filter (is_page) as utm_content,
    arg_min(device, place) as device
from named
group by customer, visit
