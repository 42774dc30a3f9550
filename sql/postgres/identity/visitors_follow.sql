-- Visitors go to whoever the customer that they were attached to belongs to now.
update subject_redirect
set customer = given.customer
from merge, unnest($2::integer[], $3::integer[]) as given (subject, customer)
where
    subject_redirect.brand_id = $1
    and merge.brand_id = subject_redirect.brand_id
    and merge.undone_at is null
    and merge.to_subject = given.subject
    and merge.from_subject = subject_redirect.subject
    and subject_redirect.customer <> given.customer
    and subject_redirect.subject <> all($2::integer[])
