insert into identifier_claim (brand_id, kind, value, subject, source)
select $1, kind, value, subject, source
from unnest($2::text[], $3::text[], $4::integer[], $5::text[]) as given (kind, value, subject, source)
