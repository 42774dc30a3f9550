-- With when the brand was first cut after a batch, before which all of it happened.
select
    received_at::text as received_at,
    batch_id,
    payload,
    (
        select erased_at
        from erasure
        where erasure.brand_id = $1 and cut_below > event_log.xid
        order by cut_below
        limit 1
    ) as cut_at
from event_log
where (received_at, batch_id) > ($2::text::timestamptz, $3::uuid) and received_at <= $4
order by received_at, batch_id
limit $5
