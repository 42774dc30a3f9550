-- Who can be reached already, and which channels only the store's record of them may say; of whoever is the same person by
-- now, too.
with persons as (
    select named.subject, person.subject as member
    from unnest($2::integer[]) as named (subject)
    cross join lateral subjects_of_person($1, named.subject) as person (subject)
)

select
    persons.subject,
    bool_or(customer.email_by_record) as email_by_record,
    bool_or(customer.phone_by_record) as phone_by_record,
    bool_or(exists (
        select from contact
        where contact.brand_id = $1
            and contact.subject = persons.member
            and (contact.email is not null or contact.phone is not null)
    )) as has_channel
from persons
join customer
    on customer.brand_id = $1 and customer.subject = any(array(select member from persons)) and customer.subject = persons.member
group by persons.subject
