-- migrate:up

-- Whose a cart of the store is, as a checkout or an order of it says: the cart itself names nobody.
create table store_cart (
    brand_id uuid not null,
    external_id text not null,
    subject integer not null,
    created_at timestamptz not null default now(),
    primary key (brand_id, external_id)
);
create index store_cart_created on store_cart (created_at);
call wall('store_cart');

-- migrate:down
