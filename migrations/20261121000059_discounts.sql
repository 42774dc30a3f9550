-- migrate:up

-- Saved discounts. One with a code gives everybody that code, which the store knows; one without gives each contact a
-- code of their own, which is made in the store.
create table discount (
    brand_id uuid not null references brand,
    id uuid not null,
    name text not null,
    type text not null check (type in ('percentage', 'fixed_amount', 'free_shipping')),
    -- Percent, or an amount in the brand's currency; null for free shipping.
    value numeric(18, 2),
    code text,
    -- What codes of contacts begin with.
    prefix text,
    minimum_type text check (minimum_type in ('amount', 'quantity')),
    minimum_value numeric(18, 2),
    -- How long a contact's code is good for; null: without end.
    duration_days integer check (duration_days between 1 and 365),
    created_at timestamptz not null default now(),
    -- Campaigns that named it still say so.
    removed_at timestamptz,
    primary key (brand_id, id),
    check ((value is null) = (type = 'free_shipping')),
    check (code is null or prefix is null and duration_days is null),
    check ((minimum_type is null) = (minimum_value is null))
);
create unique index discount_name on discount (brand_id, lower(name)) where removed_at is null;
call wall('discount');

-- Codes of contacts. A contact gets another one when the last is over or used.
create table discount_code (
    brand_id uuid not null,
    discount_id uuid not null,
    contact_id uuid not null,
    turn integer not null,
    code text not null,
    expires_at timestamptz,
    -- When the store said that it has it: before that it must not be sent.
    made_at timestamptz,
    created_at timestamptz not null default now(),
    primary key (brand_id, discount_id, contact_id, turn),
    unique (brand_id, code),
    foreign key (brand_id, discount_id) references discount (brand_id, id),
    foreign key (brand_id, contact_id) references contact (brand_id, id) on delete cascade
);
create index discount_code_contact on discount_code (brand_id, contact_id);
call wall('discount_code');

-- migrate:down
