-- Contacts, held with all others of the same persons, so that what is known of them and what they are sent stays so until the
-- message is written.
-- `offset 0` keeps it a lookup by the key: else the planner may read all rows of a brand that is most of a table.
select contact.id, email, phone, whose.first_name, whose.last_name, sms_consent, email_consent
from (
    select id from unnest($2::uuid[]) as id
    union
    select person.id
    from unnest($2::uuid[]) as given (id)
    cross join lateral (select subject from contact where brand_id = $1 and contact.id = given.id offset 0) as own
    cross join lateral contacts_of_person($1, own.subject) as person (id)
    order by id
) as asked
cross join lateral (select * from contact where brand_id = $1 and contact.id = asked.id offset 0) as contact
cross join lateral customer_of_contact($1, contact.subject, contact.first_name, contact.last_name) as whose
order by contact.id
for no key update of contact
