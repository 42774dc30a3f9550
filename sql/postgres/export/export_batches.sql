-- Whole transactions only, oldest first, until there is enough for one tick.
select received_at, batch_id, xid::text as xid, event_count, bytes
from (
    select
        received_at,
        batch_id,
        xid,
        event_count,
        octet_length(payload) as bytes,
        coalesce(sum(event_count) over earlier, 0) as events_before,
        count(*) over earlier as batches_before,
        coalesce(sum(octet_length(payload)) over earlier, 0) as bytes_before
    from event_log
    where xid >= $1::text::xid8 and xid < $2::text::xid8
    window earlier as (order by xid groups between unbounded preceding and 1 preceding)
) as waiting
where events_before < $3 and batches_before < $4 and bytes_before < $5
order by waiting.xid, batch_id
