-- Of these events the ones that were not made before. $2: ids, $3: orders that they wait for, $4: what waits, as JSON.
insert into store_event (brand_id, id, waits_for, content)
select $1, id, waits_for, content::jsonb
from unnest($2::text[], $3::text[], $4::text[]) as given (id, waits_for, content)
order by id
on conflict do nothing
returning id
