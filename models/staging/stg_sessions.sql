-- what: visits: the events of one browser session, or of one visitor's pages with no more than 30 minutes between them
-- grain: customer, session_id
-- refresh: at every read

-- Only events of pages make a visit: those that name a session, a page address or a path. Where the sender names no
-- session the first event of a visit names it.
with seen as (
    select
        customer,
        session_id,
        event_id,
        occurred_at,
        url,
        path,
        referrer,
        landing_page,
        utm_source,
        utm_medium,
        utm_campaign,
        utm_term,
        utm_content,
        properties ->> '$.device' as device,
        session_id is null as by_pauses,
        session_id is null and coalesce(
            occurred_at - lag(occurred_at) over visitor > interval 30 minutes,
            true
        ) as begins
    from stg_events
    where customer is not null
        and coalesce(session_id, url, path) is not null
    window visitor as (partition by customer, session_id is null order by occurred_at, event_id)
),

named as (
    select
        *,
        coalesce(
            session_id,
            last_value(case when begins then event_id end ignore nulls) over (
                partition by customer, session_id is null
                order by occurred_at, event_id
                rows between unbounded preceding and current row
            )
        ) as visit
    from seen
)

select
    customer,
    visit as session_id,
    bool_and(by_pauses) as by_pauses,
    min(occurred_at) as started_at,
    max(occurred_at) as ended_at,
    date_diff('second', min(occurred_at), max(occurred_at)) as duration_seconds,
    count(*)::integer as events,
    arg_min(url, { 'at': occurred_at, 'id': event_id }) as entry_url,
    arg_min(path, { 'at': occurred_at, 'id': event_id }) as entry_path,
    arg_min(referrer, { 'at': occurred_at, 'id': event_id }) as referrer,
    arg_min(landing_page, { 'at': occurred_at, 'id': event_id }) as landing_page,
    arg_min(utm_source, { 'at': occurred_at, 'id': event_id }) as utm_source,
    arg_min(utm_medium, { 'at': occurred_at, 'id': event_id }) as utm_medium,
    arg_min(utm_campaign, { 'at': occurred_at, 'id': event_id }) as utm_campaign,
    arg_min(utm_term, { 'at': occurred_at, 'id': event_id }) as utm_term,
    arg_min(utm_content, { 'at': occurred_at, 'id': event_id }) as utm_content,
    arg_min(device, { 'at': occurred_at, 'id': event_id }) as device
from named
group by customer, visit
