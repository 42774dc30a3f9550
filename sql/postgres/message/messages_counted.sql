-- Campaign messages that contacts $2 got since $3, or are about to get; one of which it is not known may have arrived.
select contact_id, count(*)::integer as messages
from message
where
    brand_id = $1
    and contact_id = any($2::uuid[])
    and direction = 'outbound'
    and answers is null
    and (
        status = 'queued'
        or (status in ('sent', 'delivered') and sent_at > $3::timestamptz)
        or (reason = 'send_unknown' and failed_at > $3::timestamptz)
    )
group by contact_id
