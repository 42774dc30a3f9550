-- Redirects that led to a subject which was itself absorbed now lead to its survivor.
update subject_redirect
set customer = given.customer
from unnest($2::integer[], $3::integer[]) as given (subject, customer)
where subject_redirect.brand_id = $1 and subject_redirect.customer = given.subject
