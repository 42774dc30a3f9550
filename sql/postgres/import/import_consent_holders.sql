-- Who has no contact yet may have spoken about an address that another contact has: that word is kept.
insert into contact (brand_id, id, subject)
select $1, given.id, given.subject
from unnest($2::integer[], $3::uuid[]) as given (subject, id)
where not exists (
    select
    from subjects_of_person($1, given.subject) as theirs (subject)
    cross join lateral (select from contact where brand_id = (select $1::uuid) and contact.subject = theirs.subject offset 0) as own
)
