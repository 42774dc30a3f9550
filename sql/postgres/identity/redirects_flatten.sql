-- Redirects that led to a subject which was itself absorbed now lead to its survivor.
with given as materialized (
    select $1::uuid as brand_id, subject, customer
    from unnest($2::integer[], $3::integer[]) as given (subject, customer)
)

update subject_redirect
set customer = given.customer
from given
where subject_redirect.brand_id = given.brand_id and subject_redirect.customer = given.subject
