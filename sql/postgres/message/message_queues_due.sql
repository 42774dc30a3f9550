-- Channels with messages that are due, found by jumping from one to the next in the index, and when the next turn of those
-- is that have just had one. $1: now.
with recursive queue as (
    (
        select brand_id, channel
        from message
        where status = 'queued' and next_attempt_at is not null
        order by brand_id, channel
        limit 1
    )
    union all
    select next.brand_id, next.channel
    from queue
    cross join lateral (
        select brand_id, channel
        from message
        where status = 'queued' and next_attempt_at is not null and (brand_id, channel) > (queue.brand_id, queue.channel)
        order by brand_id, channel
        limit 1
    ) as next
)

select queue.brand_id, queue.channel, case when next_send_at > $1 then next_send_at end as next_turn_at
from queue
left join message_channel using (brand_id, channel)
where exists (
        select
        from message
        where
            message.brand_id = queue.brand_id
            and message.channel = queue.channel
            and status = 'queued'
            and next_attempt_at <= $1
    )
