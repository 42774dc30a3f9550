-- migrate:up

-- Of more profiles than say who somebody is: for good, though an erasure takes who was named with it.
alter table identifier add column shared boolean not null default false;
update identifier
set shared = true
from (
    select brand_id, kind, value
    from identifier_claim
    group by brand_id, kind, value
    having count(*) >= 10
) as claimed
where
    identifier.brand_id = claimed.brand_id
    and identifier.kind = claimed.kind
    and identifier.value = claimed.value;
create index identifier_shared on identifier (brand_id, kind, value) where shared;

-- migrate:down
