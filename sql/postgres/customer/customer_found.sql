-- The profile that an id or an ordinal names, or the one that it was merged into, with all ordinals that are theirs and
-- their oldest contact. An id is the public one, or the one that a sender of events chose.
with named as (
    select subject from customer where brand_id = $1 and id = $2::text and erased_at is null and not deleted
    union all
    select subject from identifier where brand_id = $1 and kind = 'profile_id' and value = $2::text
    union all
    select $3::integer where $3::integer is not null
    limit 1
),

-- Materialized: joined in one step, all customers of the brand would be read.
survivor as materialized (
    select coalesce(redirect.customer, named.subject) as subject
    from named
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = named.subject and not redirect.deleted
),

found as (
    select profile.subject, profile.id, profile.email, profile.phone
    from survivor
    join customer as profile on profile.brand_id = $1 and profile.subject = survivor.subject and not profile.deleted
),

linked as (
    select subject from found
    union all
    select redirect.subject
    from found
    join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.customer = found.subject and not redirect.deleted
),

contacts as (
    select contact.id, contact.created_at from linked join contact on contact.brand_id = $1 and contact.subject = linked.subject
    union all
    select contact.id, contact.created_at from found join contact on contact.brand_id = $1 and contact.email = found.email
    union all
    select contact.id, contact.created_at from found join contact on contact.brand_id = $1 and contact.phone = found.phone
)

select
    subject as customer,
    id as customer_id,
    array(select linked.subject from linked order by linked.subject) as subjects,
    (select contacts.id from contacts order by created_at, id limit 1) as contact_id
from found
