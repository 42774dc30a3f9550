-- Types of events that campaigns wait for, by brand. Orders end what waits for one, too.
select brand_id, awaited_event(trigger_event) as event_type
from campaign
where status = 'active'
union
select brand_id, 'order_created' as event_type
from campaign
where status = 'active'
