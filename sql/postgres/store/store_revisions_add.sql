insert into subscription_revision (brand_id, external_id, revision, occurred_at, active, paused)
select $1, external_id, revision, occurred_at, active::boolean, paused::boolean
from
    unnest($2::text[], $3::numeric[], $4::timestamptz[], $5::text[], $6::text[])
        as given (external_id, revision, occurred_at, active, paused)
on conflict do nothing
