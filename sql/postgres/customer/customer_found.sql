-- The profile that an id names, or the one that it was merged into, with all ordinals that are theirs, their oldest
-- contact, and the newest generation of published results. An id is the public one, or the one that a sender of events
-- chose. $3: with what profiles go by beside their own columns: the contact and visitors of any of the ordinals.
with named as (
    select subject from customer where brand_id = $1 and id = $2 and erased_at is null and not deleted
    union all
    select subject from identifier where brand_id = $1 and kind = 'profile_id' and value = $2
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

linked_contacts as (
    select contact.id, contact.created_at from linked join contact on contact.brand_id = $1 and contact.subject = linked.subject
),

contacts as (
    select id, created_at from linked_contacts
    union all
    select contact.id, contact.created_at from found join contact on contact.brand_id = $1 and contact.email = found.email
    union all
    select contact.id, contact.created_at from found join contact on contact.brand_id = $1 and contact.phone = found.phone
)

select
    subject as customer,
    id as customer_id,
    array(select linked.subject from linked order by linked.subject) as subjects,
    (select contacts.id from contacts order by created_at, id limit 1) as contact_id,
    coalesce((select lake_brand.generation from lake_brand where lake_brand.brand_id = $1), 0) as generation,
    case when $3::boolean then (select linked_contacts.id from linked_contacts order by created_at, id limit 1) end as linked_contact_id,
    case
        when $3
            then array(
                select distinct identifier.value
                from linked
                join identifier
                    on identifier.brand_id = $1
                    and identifier.kind = 'anonymous_id'
                    and identifier.subject = linked.subject
                order by identifier.value
            )
    end as visitor_ids
from found
