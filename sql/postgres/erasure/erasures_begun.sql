select id, requested_by, requested_at, subjects, customer_ids, identifiers, erased_at
from erasure
where brand_id = $1 and id = any($2::uuid[]) and state in ('erasing', 'failed') and erased_at is not null
order by requested_at, id
