-- by_browser as 0 or 1: the driver has no arrays of boolean.
insert into subject_redirect (brand_id, subject, customer, by_browser)
select $1, subject, customer, by_browser = 1
from unnest($2::integer[], $3::integer[], $4::integer[]) as given (subject, customer, by_browser)
order by subject
on conflict (brand_id, subject) do update set
    customer = excluded.customer, by_browser = excluded.by_browser, deleted = false
