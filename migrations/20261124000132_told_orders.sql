-- migrate:up

-- When the customer bought since, by the word of a server alone: of such an order there is no record.
alter table campaign_run add column bought_at timestamptz;

-- migrate:down
