-- Campaign messages that the persons of contacts $2 got since $3 at any of their contacts, or are about to get; one of which it
-- is not known may have arrived.
select
    asked.id as contact_id, coalesce(own.customer::text, asked.id::text) as person, sum(said.messages)::integer as messages
from unnest($2::uuid[]) as asked (id)
cross join lateral (
    select contact.brand_id, contact.subject, coalesce(redirect.customer, contact.subject) as customer
    from contact
    left join subject_redirect as redirect
        on redirect.brand_id = contact.brand_id and redirect.subject = contact.subject and not redirect.deleted
    where contact.brand_id = $1 and contact.id = asked.id
    offset 0
) as own
cross join lateral (
    select asked.id
    union
    select person.id from contacts_of_person($1, own.subject) as person (id)
) as theirs
cross join lateral (
    select count(*) as messages
    from message
    where
        brand_id = own.brand_id
        and message.contact_id = theirs.id
        and direction = 'outbound'
        and answers is null
        and (
            status = 'queued'
            or (status in ('sent', 'delivered') and sent_at > $3::timestamptz)
            or (reason = 'send_unknown' and failed_at > $3::timestamptz)
        )
) as said
group by asked.id, own.customer
