insert into subject_redirect (brand_id, subject, customer)
select $1, subject, customer
from unnest($2::integer[], $3::integer[]) as given (subject, customer)
order by subject
on conflict (brand_id, subject) do update set customer = excluded.customer, deleted = false
