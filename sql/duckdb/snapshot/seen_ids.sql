-- What the next 14 days compare new event ids with.
select id_hash, id_check, received_at::date as received_on
from fresh
where event_id is not null
order by id_hash
