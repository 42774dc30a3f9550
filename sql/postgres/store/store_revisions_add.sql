insert into subscription_revision (brand_id, external_id, revision, occurred_at, active)
select $1, external_id, revision, occurred_at, active::boolean
from unnest($2::text[], $3::numeric[], $4::timestamptz[], $5::text[]) as given (external_id, revision, occurred_at, active)
on conflict do nothing
