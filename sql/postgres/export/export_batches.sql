-- Whole transactions only, oldest first, until the batch is large enough for one tick.
select received_at, batch_id, xid::text as xid, event_count, bytes
from (
    select
        received_at, batch_id, xid, event_count, octet_length(payload) as bytes,
        sum(event_count) over (order by xid range between unbounded preceding and current row) - event_count as events_before
    from event_log
    where xid >= $1::text::xid8 and xid < $2::text::xid8
) as waiting
where events_before < $3
order by waiting.xid, batch_id
