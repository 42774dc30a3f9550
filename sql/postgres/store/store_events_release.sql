-- Events that waited for these orders.
with waiting as (
    select id, waits_for, content
    from store_event
    where brand_id = $1 and waits_for = any($2::text[])
    for update
)

update store_event
set waits_for = null, content = null
from waiting
where store_event.brand_id = $1 and store_event.id = waiting.id
returning waiting.id, waiting.waits_for, waiting.content
