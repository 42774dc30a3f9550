-- Customers whose orders, conversations, messages, clicks or merges changed in [$1, $2), of brands that have
-- conversations at all, in the order of their numbers. Those that are behind ($3) have places of their own ($4, null: none
-- of theirs now), and those amid a round its end ($5) and the last customer who is done ($6). All in one scan from the
-- first place: one for each brand reads what all others did since then, too. `offset 0` keeps lookups what would read
-- tables.
with since as (
    select
        brand.id as brand_id,
        case when behind.brand_id is null then $1 else behind.place end::xid8 as place,
        coalesce(behind.round_below, $2)::xid8 as below,
        coalesce(behind.done_to, 0) as done_to
    from brand
    left join unnest($3::uuid[], $4::text[], $5::text[], $6::integer[]) as behind (brand_id, place, round_below, done_to)
        on behind.brand_id = brand.id
    -- With `exists` all conversations are read, to make a list of their brands.
    cross join lateral (select from conversation where brand_id = brand.id limit 1) as has_one
),

first as (
    select min(place) as place
    from since
),

moved as (
    select message.brand_id, conversation_id
    from message
    join since using (brand_id)
    where xid >= (select place from first) and xid >= since.place and xid < since.below
    union
    select link_click.brand_id, conversation_id
    from link_click
    join since using (brand_id)
    where xid >= (select place from first) and xid >= since.place and xid < since.below
    union
    select conversation.brand_id, id
    from conversation
    join since using (brand_id)
    where xid >= (select place from first) and xid >= since.place and xid < since.below
),

changed as (
    select store_order.brand_id, subject
    from store_order
    join since using (brand_id)
    where xid >= (select place from first) and xid >= since.place and xid < since.below
    union
    select redirect.brand_id, unnest(array[subject, customer])
    from subject_redirect as redirect
    join since using (brand_id)
    where xid >= (select place from first) and xid >= since.place and xid < since.below
    union
    select moved.brand_id, coalesce(conversation.subject, contact.subject)
    from moved
    cross join lateral (
        select subject, contact_id from conversation where brand_id = moved.brand_id and id = moved.conversation_id offset 0
    ) as conversation
    left join lateral (
        select subject from contact where brand_id = moved.brand_id and id = conversation.contact_id offset 0
    ) as contact on true
)

select
    changed.brand_id,
    since.place::text,
    since.below::text,
    array_agg(distinct theirs.customer order by theirs.customer) as customers
from changed
join since using (brand_id)
left join subject_redirect as redirect
    on redirect.brand_id = changed.brand_id and redirect.subject = changed.subject and not redirect.deleted
cross join lateral (select coalesce(redirect.customer, changed.subject) as customer) as theirs
where theirs.customer > since.done_to
group by changed.brand_id, since.place, since.below
order by changed.brand_id
