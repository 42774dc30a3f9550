-- The newest messages with a customer before a place: those at the same instant come by id, after $5; null: none of them.
-- $2: ordinals that are the customer's, $3: its contact, whose conversations of nobody are theirs.
with theirs as (
    select id, campaign_id
    from conversation
    where
        brand_id = $1
        and (subject = any($2::integer[]) or (contact_id = $3::uuid and subject is null))
        and not deleted
)

select
    message.id,
    message.direction,
    message.channel,
    message.author,
    message.status,
    message.conversation_id,
    theirs.campaign_id,
    to_char(message.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
from theirs
join message on message.brand_id = $1 and message.conversation_id = theirs.id and not message.deleted
where
    $4::timestamptz is null
    or message.created_at < $4::timestamptz
    or message.created_at = $4::timestamptz and message.id::text > $5::text
order by message.created_at desc, message.id
limit $6
