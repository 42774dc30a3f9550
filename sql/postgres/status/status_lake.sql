select
    tick,
    (select coalesce(sum(event_count), 0) from event_log where xid >= exported_below)::bigint as waiting_events,
    coalesce(
        extract(epoch from now() - (select min(received_at) from event_log where xid >= exported_below)), 0
    )::integer as export_lag_seconds,
    (select coalesce(sum(octet_length(payload)), 0) from event_log)::bigint as log_bytes,
    (select count(*) from dead_event) as dead_events,
    (select count(*) from dead_letter where resolved_at is null) as dead_letters
from lake_state
