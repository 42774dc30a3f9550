-- migrate:up

-- The relations of bulk loads carry no foreign key to brand: it cost a third of the CPU of 50,000 new identities, and
-- brands are never deleted while they have rows.

-- Every profile of a brand: customers known to the store or by a contact channel, and visitors (provenance pixel).
-- `subject` is the ordinal that events carry; `id` is the public id.
create table customer (
    brand_id uuid not null,
    subject integer not null,
    id text not null,
    store_customer_id text,
    email text,
    phone text,
    first_name text,
    last_name text,
    tags text[] not null default '{}',
    provenance text not null check (provenance in ('server', 'pixel', 'merged')),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, subject),
    unique (brand_id, id)
);
create index customer_xid on customer (xid);
call wall('customer');

-- Which subject an identifier belongs to: kind is store_customer_id, profile_id, email, phone or anonymous_id.
create table identifier (
    brand_id uuid not null,
    kind text not null check (kind in ('store_customer_id', 'profile_id', 'email', 'phone', 'anonymous_id')),
    value text not null,
    subject integer not null,
    primary key (brand_id, kind, value)
);
call wall('identifier');

-- Merged subjects only, flat: a customer named here never has a redirect of its own.
create table subject_redirect (
    brand_id uuid not null,
    subject integer not null,
    customer integer not null check (customer <> subject),
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, subject)
);
create index subject_redirect_xid on subject_redirect (xid);
create index subject_redirect_customer on subject_redirect (brand_id, customer);
call wall('subject_redirect');

create table store_order (
    brand_id uuid not null,
    external_id text not null,
    id uuid not null,
    number text,
    subject integer,
    email text,
    phone text,
    state text not null check (state in ('complete', 'pending', 'cancelled', 'refunded')),
    billing_status text not null check (billing_status in ('pending', 'paid', 'partially_refunded', 'refunded', 'voided')),
    currency_code text not null,
    subtotal numeric(18, 2),
    discount_total numeric(18, 2) not null default 0,
    total numeric(18, 2) not null,
    refunded_total numeric(18, 2) not null default 0,
    discount_codes text[] not null default '{}',
    -- [{ id, product_id, variant_id, title, sku, quantity, price, total }]
    lines jsonb not null default '[]',
    test boolean not null default false,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    cancelled_at timestamptz,
    recovered_at timestamptz,
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, external_id),
    unique (brand_id, id)
);
create index store_order_xid on store_order (xid);
create index store_order_subject on store_order (brand_id, subject);
call wall('store_order');

create table product (
    brand_id uuid not null,
    id text not null,
    title text not null,
    status text not null default 'active',
    -- [{ id, price, sku }] and [{ id, url, alt_text }]
    variants jsonb not null default '[]',
    images jsonb not null default '[]',
    updated_at timestamptz not null default now(),
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, id)
);
create index product_xid on product (xid);
call wall('product');

create table checkout (
    brand_id uuid not null,
    external_id text not null,
    id uuid not null,
    subject integer,
    state text not null check (state in ('open', 'abandoned', 'recovered', 'completed')),
    currency_code text not null,
    total numeric(18, 2) not null default 0,
    item_count integer not null default 0,
    url text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    abandoned_at timestamptz,
    completed_at timestamptz,
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, external_id),
    unique (brand_id, id)
);
create index checkout_xid on checkout (xid);
call wall('checkout');

create table subscription (
    brand_id uuid not null,
    external_id text not null,
    id uuid not null,
    subject integer,
    status text not null,
    product_id text,
    title text,
    interval_unit text,
    interval_count integer,
    price numeric(18, 2),
    currency_code text,
    started_at timestamptz,
    next_billing_at timestamptz,
    cancelled_at timestamptz,
    updated_at timestamptz not null default now(),
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, external_id),
    unique (brand_id, id)
);
create index subscription_xid on subscription (xid);
call wall('subscription');

-- The export to the lake follows this column: every change must carry the transaction that made it.
create function set_xid() returns trigger
language plpgsql
as $$
begin
    new.xid := pg_current_xact_id();
    return new;
end
$$;

do $$
declare
    relation text;
begin
    foreach relation in array array['customer', 'subject_redirect', 'store_order', 'product', 'checkout', 'subscription'] loop
        execute format('create trigger set_xid before insert or update on %I for each row execute function set_xid()', relation);
    end loop;
end
$$;

-- migrate:down
