insert into dead_event (batch_id, line, brand_id, reason, payload)
select batch_id, line, brand_id, reason, decode(payload, 'hex')
from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::text[], $5::text[]) as dead (batch_id, line, brand_id, reason, payload)
on conflict do nothing
