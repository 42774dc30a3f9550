-- migrate:up

-- The Admin API names an order's checkout by its token only.
alter table checkout add column token text;
create index checkout_token on checkout (brand_id, token) where token is not null;

alter table store_order add column checkout_token text;
create index store_order_checkout_token on store_order (brand_id, checkout_token) where checkout_token is not null;

-- migrate:down
