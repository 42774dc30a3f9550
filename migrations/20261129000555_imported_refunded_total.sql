-- migrate:up

-- What a file said was given back of an order, which the store's refunds since then add to; null: the store described the
-- order, and its refunds are all.
alter table store_order add column imported_refunded_total numeric(18, 2);

-- migrate:down
