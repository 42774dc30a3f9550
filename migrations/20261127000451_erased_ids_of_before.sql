-- migrate:up

update custom_delivery
set contact_id = custom_event.contact_id
from custom_event
where
    custom_event.brand_id = custom_delivery.brand_id
    and custom_event.id = custom_event_id
    -- Of several the others may have told of somebody else.
    and (deliveries = 1 or custom_event.event_id = custom_delivery.event_id);

-- Of those who were erased before.
update custom_delivery
set event_id = erased_id(brand_id, event_id)
where
    custom_event_id is not null
    and contact_id is null
    and exists (select from tombstone where tombstone.brand_id = custom_delivery.brand_id);

update run_step
set event_id = null
from campaign_run
where
    campaign_run.brand_id = run_step.brand_id
    and campaign_run.id = run_id
    and exists (select from tombstone where tombstone.brand_id = run_step.brand_id)
    and run_step.event_id is not null
    and contact_id is null
    and subject is null
    and campaign_run.state = 'ended';

update campaign_run
set
    occurrence = erased_id(brand_id, occurrence), event_id = null,
    source_id = case when source_kind in ('custom_event', 'subscription_event') then erased_id(brand_id, source_id) else source_id end
where
    contact_id is null
    and subject is null
    and state = 'ended'
    and exists (select from tombstone where tombstone.brand_id = campaign_run.brand_id);

update message
set idempotency_key = erased_id(brand_id, idempotency_key)
where
    contact_id is null
    and direction = 'inbound'
    and exists (select from tombstone where tombstone.brand_id = message.brand_id);

-- migrate:down
