-- The customers of today, by any of their ordinals ($2), in the places of these. `told_email` and `told_phone` are those of
-- now: the store's own record's, where it says any, else those of the checkout or order ($3: its kind, $4: the store's id)
-- that the customer is to be messaged about. The others may be as old as the customer.
-- Each step by the key of the one before: joined in one, all customers of the brand would be read.
with asked as materialized (
    select place, kind, source_id, coalesce(redirect.customer, asked.subject) as subject
    from unnest($2::integer[], $3::text[], $4::text[]) with ordinality as asked (subject, kind, source_id, place)
    left join lateral (
        select customer from subject_redirect
        where brand_id = $1 and subject_redirect.subject = asked.subject and not deleted
        offset 0
    ) as redirect on true
),

named as materialized (
    select asked.place, asked.subject, source.subject as named_subject, source.email, source.phone
    from asked
    cross join lateral (
        select subject, email, phone
        from checkout
        where brand_id = $1 and external_id = asked.source_id and asked.kind = 'checkout' and not deleted
        union all
        select subject, email, phone
        from store_order
        where brand_id = $1 and external_id = asked.source_id and asked.kind = 'order' and not deleted
    ) as source
),

-- It may have become somebody else's.
source as materialized (
    select named.place, named.email, named.phone
    from named
    left join lateral (
        select customer from subject_redirect
        where brand_id = $1 and subject_redirect.subject = named.named_subject and not deleted
        offset 0
    ) as redirect on true
    where named.subject = coalesce(redirect.customer, named.named_subject)
)

select
    asked.place::integer as place, today.subject, today.email, today.phone, first_name, last_name,
    case when email_by_record then today.email else source.email end as told_email,
    case when phone_by_record then today.phone else source.phone end as told_phone
from asked
cross join lateral (
    select * from customer
    where brand_id = $1 and customer.subject = asked.subject and not deleted and provenance <> 'pixel'
    offset 0
) as today
left join source on source.place = asked.place
