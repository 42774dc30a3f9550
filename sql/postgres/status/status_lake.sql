select
    tick,
    waiting.events as waiting_events,
    coalesce(extract(epoch from now() - waiting.oldest), 0)::integer as export_lag_seconds,
    (select coalesce(sum(octet_length(payload)), 0) from event_log)::bigint as log_bytes,
    (select count(*) from dead_event) as dead_events,
    (select count(*) from dead_letter where resolved_at is null) as dead_letters,
    (select count(*) from store_delivery where outcome = 'dead' and payload is not null) as dead_store_webhooks
from lake_state
cross join (
    select coalesce(sum(event_count), 0)::bigint as events, min(received_at) as oldest
    from event_log_waiting
) as waiting
