-- Whole transactions only, oldest first, until there is enough for one tick.
select received_at, batch_id, xid::text as xid, event_count, bytes
from (
    select
        received_at,
        batch_id,
        xid,
        event_count,
        octet_length(payload) as bytes,
        sum(event_count) over until_here - event_count as events_before,
        sum(octet_length(payload)) over until_here - octet_length(payload) as bytes_before
    from event_log
    where xid >= $1::text::xid8 and xid < $2::text::xid8
    window until_here as (order by xid range between unbounded preceding and current row)
) as waiting
where events_before < $3 and bytes_before < $4
order by waiting.xid, batch_id
