-- In key order, so that the index is filled from left to right.
insert into identifier (brand_id, kind, value, subject)
select $1, kind, value, subject
from unnest($2::text[], $3::text[], $4::integer[]) as given (kind, value, subject)
order by kind, value
