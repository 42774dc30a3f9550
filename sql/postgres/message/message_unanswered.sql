-- Whether a gateway may mean, by an id ($3) that no message has, one of the channel ($2) that it has not answered for yet.
select
    exists (
        select from message
        where
            brand_id = $1
            and channel = $2
            and direction = 'outbound'
            and status = 'queued'
            and next_attempt_at is not null
            and begun_at is not null
    )
    and not exists (select from message where brand_id = $1 and provider_message_id = $3) as is_unanswered
