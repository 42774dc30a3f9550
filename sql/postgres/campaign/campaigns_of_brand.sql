-- $2: a status or null; $3: archived ones, too.
select id, name, type, status
from campaign
where brand_id = $1 and ($2::text is null or status = $2) and ($3::boolean or status <> 'archived')
order by created_at desc, id desc
