-- Locked as their senders lock them: before the runs.
select id
from message
where brand_id = $1 and contact_id = any(array(select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5)))
order by id
for update
