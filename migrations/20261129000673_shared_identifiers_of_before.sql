-- migrate:up

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

-- migrate:down
