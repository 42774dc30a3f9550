select
    tick,
    waiting.events as waiting_events,
    coalesce(extract(epoch from now() - waiting.oldest), 0)::integer as export_lag_seconds,
    -- What they take on the disk: the sum of their payloads is known to who reads the whole log.
    (
        select coalesce(sum(pg_total_relation_size(relid)), 0) from pg_partition_tree('event_log') where isleaf
    )::bigint as log_bytes,
    (select count(*) from dead_event) as dead_events,
    (select count(*) from dead_letter where resolved_at is null) as dead_letters,
    (select count(*) from store_delivery where outcome = 'dead' and payload is not null) as dead_store_webhooks
from lake_state
cross join (
    select coalesce(sum(event_count), 0)::bigint as events, min(received_at) as oldest
    from event_log_waiting
) as waiting
