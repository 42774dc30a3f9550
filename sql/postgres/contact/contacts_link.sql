-- As contact_link, for contacts that were there before it was known whose email or phone they have.
with given as (
    select kind, value, subject
    from unnest($2::text[], $3::text[], $4::integer[]) as given (kind, value, subject)
),

found as (
    select contact.id, contact.created_at, contact.subject as linked, given.subject
    from given join contact on contact.brand_id = $1 and given.kind = 'email' and contact.email = given.value
    union all
    select contact.id, contact.created_at, contact.subject as linked, given.subject
    from given join contact on contact.brand_id = $1 and given.kind = 'phone' and contact.phone = given.value
),

oldest as (
    select distinct on (subject) id, subject
    from found
    where
        linked is null
        and not exists (
            select from contact as other
            where other.brand_id = $1 and other.subject = found.subject and (other.email is not null or other.phone is not null)
        )
    order by subject, created_at, id
)

update contact
set subject = chosen.subject, updated_at = now()
from (select id, min(subject) as subject from oldest group by id) as chosen
where contact.brand_id = $1 and contact.id = chosen.id and contact.subject is null
returning contact.subject
