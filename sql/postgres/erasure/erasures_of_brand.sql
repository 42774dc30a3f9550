select id, state, requested_by, requested_at, due_at, erased_at, completed_at, error, certificate
from erasure
where brand_id = $1
order by requested_at desc, id desc
