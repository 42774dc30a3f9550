-- Whether a gateway may mean, by an id ($3) that no message has, one of the channel ($2) that it has not answered for yet.
select
    count(*) filter (where provider_message_id = $3) as known,
    count(*) filter (where status = 'queued' and begun_at is not null) as begun
from message
where
    brand_id = $1
    and direction = 'outbound'
    and (provider_message_id = $3 or (channel = $2 and status = 'queued' and next_attempt_at is not null))
