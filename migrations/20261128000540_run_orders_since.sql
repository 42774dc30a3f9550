-- migrate:up

-- An order after this instant makes a run's message needless: of a checkout's run after its last activity, which is long before
-- it counts as abandoned. Null: after the trigger.
alter table campaign_run add column orders_since timestamptz;

update campaign_run
set orders_since = least(triggered_at, checkout.updated_at)
from checkout
where
    campaign_run.state = 'waiting'
    and campaign_run.source_kind = 'checkout'
    and checkout.brand_id = campaign_run.brand_id
    and checkout.external_id = campaign_run.source_id;

-- migrate:down
