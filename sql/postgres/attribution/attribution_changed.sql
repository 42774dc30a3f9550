-- Customers whose orders, conversations, messages, clicks or merges changed in [$1, $2), of brands that have
-- conversations at all: of one ($3), or of all but some ($4).
with talking as (
    select id as brand_id
    from brand
    where
        exists (select from conversation where brand_id = brand.id)
        and ($3::uuid is null or id = $3)
        and id <> all($4::uuid[])
),

moved as (
    select brand_id, conversation_id
    from message
    where xid >= $1::text::xid8 and xid < $2::text::xid8 and brand_id in (select brand_id from talking)
    union
    select brand_id, conversation_id
    from link_click
    where xid >= $1::text::xid8 and xid < $2::text::xid8 and brand_id in (select brand_id from talking)
    union
    select brand_id, id
    from conversation
    where xid >= $1::text::xid8 and xid < $2::text::xid8 and brand_id in (select brand_id from talking)
),

changed as (
    select brand_id, subject
    from store_order
    where xid >= $1::text::xid8 and xid < $2::text::xid8 and brand_id in (select brand_id from talking)
    union
    select redirect.brand_id, unnest(array[subject, customer])
    from subject_redirect as redirect
    where xid >= $1::text::xid8 and xid < $2::text::xid8 and redirect.brand_id in (select brand_id from talking)
    union
    select conversation.brand_id, coalesce(conversation.subject, contact.subject)
    from moved
    join conversation on conversation.brand_id = moved.brand_id and conversation.id = moved.conversation_id
    left join contact on contact.brand_id = conversation.brand_id and contact.id = conversation.contact_id
)

select changed.brand_id, array_agg(distinct coalesce(redirect.customer, changed.subject)) as customers
from changed
left join subject_redirect as redirect
    on redirect.brand_id = changed.brand_id and redirect.subject = changed.subject and not redirect.deleted
where changed.subject is not null
group by changed.brand_id
order by changed.brand_id
