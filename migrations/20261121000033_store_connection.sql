-- migrate:up

-- The live store of a brand. Token and secret are sealed (src/access/seal.ts); the token goes when the app is removed.
create table store_connection (
    brand_id uuid primary key references brand,
    id uuid not null unique,
    platform text not null check (platform in ('shopify')),
    shop_domain text not null unique,
    -- Where the Admin API answers; null: https://<shop_domain>.
    api_origin text,
    access_token bytea,
    webhook_secret bytea not null,
    scopes text[] not null default '{}',
    status text not null default 'connected' check (status in ('connected', 'refused', 'disconnected')),
    -- Why the store refuses us, for `recoup store status`.
    error text,
    -- What happened before this instant is history: it is written without events of the service.
    connected_at timestamptz not null,
    disconnected_at timestamptz,
    abandoned_after_minutes integer not null default 60 check (abandoned_after_minutes between 5 and 10080)
);
call wall('store_connection');

-- How far a walk through one kind of the store's records has come; written with each page, so that a killed one goes on.
create table store_sync (
    brand_id uuid not null,
    purpose text not null check (purpose in ('backfill', 'reconcile')),
    entity text not null check (entity in ('customers', 'products', 'orders', 'subscriptions')),
    -- Records changed at or after this instant; null: all.
    since timestamptz,
    -- The store's cursor behind the last page written; null before the first.
    position text,
    done bigint not null default 0,
    total bigint not null default 0,
    started_at timestamptz not null,
    finished_at timestamptz,
    primary key (brand_id, purpose, entity)
);
call wall('store_sync');

-- The newest version seen of each record of the store. One that the store removed stays removed, whatever comes late.
create table store_version (
    brand_id uuid not null,
    kind text not null,
    external_id text not null,
    -- Compared in this order; revision is 0 where the platform has none.
    revision numeric not null default 0,
    updated_at timestamptz not null,
    -- When the store sent or we read it: tells versions of one second apart.
    triggered_at timestamptz not null,
    removed boolean not null default false,
    primary key (brand_id, kind, external_id)
);
call wall('store_version');

-- Webhooks received, by the platform's id of the delivery. What could not be read is kept with the reason.
create table store_delivery (
    brand_id uuid not null,
    webhook_id text not null,
    topic text not null,
    triggered_at timestamptz not null,
    received_at timestamptz not null default now(),
    outcome text not null check (outcome in ('applied', 'ignored', 'dead')),
    reason text,
    payload bytea,
    primary key (brand_id, webhook_id)
);
create index store_delivery_received on store_delivery (received_at);
create index store_delivery_dead on store_delivery (brand_id, received_at) where outcome = 'dead';
call wall('store_delivery');

-- Events that the service made of the store's records, each once. One about an order that is not known yet waits.
create table store_event (
    brand_id uuid not null,
    id text not null,
    -- External id of the order that it waits for.
    waits_for text,
    -- The event while it waits.
    content jsonb,
    created_at timestamptz not null default now(),
    primary key (brand_id, id)
);
create index store_event_waiting on store_event (brand_id, waits_for) where waits_for is not null;
create index store_event_created on store_event (created_at);
call wall('store_event');

-- Refunds by the store's id. One that names no order counts against its customer.
create table refund (
    brand_id uuid not null,
    external_id text not null,
    id uuid not null,
    order_external_id text,
    -- Only of a refund that names no order; else the order says whose it is.
    subject integer,
    currency_code text not null,
    total numeric(18, 2) not null,
    created_at timestamptz not null,
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, external_id),
    unique (brand_id, id)
);
create index refund_xid on refund (xid);
create index refund_order on refund (brand_id, order_external_id);
call wall('refund');
create trigger set_xid before insert or update on refund for each row execute function set_xid();

create table fulfillment (
    brand_id uuid not null,
    external_id text not null,
    order_external_id text not null,
    status text not null,
    shipment_status text,
    tracking_company text,
    tracking_numbers text[] not null default '{}',
    tracking_urls text[] not null default '{}',
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (brand_id, external_id)
);
create index fulfillment_order on fulfillment (brand_id, order_external_id);
call wall('fulfillment');

-- Whether a subscription was active at each revision that was seen: starts, stops and restarts follow from it.
create table subscription_revision (
    brand_id uuid not null,
    external_id text not null,
    revision numeric not null,
    occurred_at timestamptz not null,
    active boolean not null,
    primary key (brand_id, external_id, revision)
);
call wall('subscription_revision');

alter table store_order
    -- The platform's own word, from which state and billing_status follow together with the refunds.
    add column financial_status text,
    add column checkout_external_id text;
create index store_order_checkout on store_order (brand_id, checkout_external_id) where checkout_external_id is not null;

alter table checkout
    -- [{ product_id, variant_id, product_title, sku, quantity, price }]
    add column items jsonb not null default '[]',
    -- When its shopper was last messaged about it.
    add column messaged_at timestamptz;
create index checkout_open on checkout (brand_id, updated_at) where state = 'open' and not deleted;

-- What a shopper asked to see; answered by an export.
create table data_request (
    brand_id uuid not null,
    id uuid not null,
    -- The platform's id of the request; the same one again is the same request.
    external_id text not null,
    store_customer_id text,
    email text,
    phone text,
    requested_at timestamptz not null,
    answered_at timestamptz,
    primary key (brand_id, id),
    unique (brand_id, external_id)
);
call wall('data_request');

-- migrate:down
