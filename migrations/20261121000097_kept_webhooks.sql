-- migrate:up

-- Webhooks whose body is kept: what a brand's room for them is counted over.
create index store_delivery_kept on store_delivery (brand_id, received_at) where payload is not null;

-- migrate:down
