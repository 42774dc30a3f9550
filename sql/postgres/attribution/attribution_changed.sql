-- Customers whose orders, conversations, messages, clicks or merges changed in [$1, $2), of brands that have
-- conversations at all. Those that are behind ($3) have places of their own ($4, null: none of theirs now). All in one
-- scan from the first place: one for each brand reads what all others did since then, too.
with since as (
    select brand.id as brand_id, case when behind.brand_id is null then $1 else behind.place end::xid8 as place
    from brand
    left join unnest($3::uuid[], $4::text[]) as behind (brand_id, place) on behind.brand_id = brand.id
    where exists (select from conversation where brand_id = brand.id)
),

first as (
    select min(place) as place
    from since
),

moved as (
    select message.brand_id, conversation_id
    from message
    join since using (brand_id)
    where xid >= (select place from first) and xid >= since.place and xid < $2::text::xid8
    union
    select link_click.brand_id, conversation_id
    from link_click
    join since using (brand_id)
    where xid >= (select place from first) and xid >= since.place and xid < $2::text::xid8
    union
    select conversation.brand_id, id
    from conversation
    join since using (brand_id)
    where xid >= (select place from first) and xid >= since.place and xid < $2::text::xid8
),

changed as (
    select store_order.brand_id, subject
    from store_order
    join since using (brand_id)
    where xid >= (select place from first) and xid >= since.place and xid < $2::text::xid8
    union
    select redirect.brand_id, unnest(array[subject, customer])
    from subject_redirect as redirect
    join since using (brand_id)
    where xid >= (select place from first) and xid >= since.place and xid < $2::text::xid8
    union
    select conversation.brand_id, coalesce(conversation.subject, contact.subject)
    from moved
    join conversation on conversation.brand_id = moved.brand_id and conversation.id = moved.conversation_id
    left join contact on contact.brand_id = conversation.brand_id and contact.id = conversation.contact_id
)

select
    changed.brand_id,
    since.place::text,
    array_agg(distinct coalesce(redirect.customer, changed.subject)) as customers
from changed
join since using (brand_id)
left join subject_redirect as redirect
    on redirect.brand_id = changed.brand_id and redirect.subject = changed.subject and not redirect.deleted
where changed.subject is not null
group by changed.brand_id, since.place
order by changed.brand_id
