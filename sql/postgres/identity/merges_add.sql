insert into merge (brand_id, id, from_subject, to_subject, evidence)
select $1, id, from_subject, to_subject, evidence::jsonb
from unnest($2::uuid[], $3::integer[], $4::integer[], $5::text[]) as given (id, from_subject, to_subject, evidence)
