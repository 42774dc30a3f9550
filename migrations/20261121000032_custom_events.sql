-- migrate:up

-- What a provider's webhook told of: one record per entity (external_id) of an event definition, as it was told last.
-- It goes with its contact, since its data is about that person.
create table custom_event (
    brand_id uuid not null,
    id uuid not null,
    provider_id uuid not null,
    definition_id uuid not null,
    external_id text not null,
    contact_id uuid not null,
    -- Of the newest delivery.
    event_id text not null,
    -- Not jsonb: what was sent is kept as it was sent, and 1e308 takes no 309 digits.
    data json not null,
    deliveries integer not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (brand_id, id),
    unique (brand_id, definition_id, external_id),
    foreign key (brand_id, contact_id) references contact on delete cascade
);
create index custom_event_contact on custom_event (brand_id, contact_id);
call wall('custom_event');

-- Event ids that were accepted: a repeat is none.
create table custom_delivery (
    brand_id uuid not null,
    provider_id uuid not null,
    event_id text not null,
    definition_id uuid not null,
    received_at timestamptz not null default now(),
    primary key (brand_id, provider_id, event_id)
);
call wall('custom_delivery');

-- Deliveries that were valid at the door and could not be stored, until they are replayed. Email and phone, normalised,
-- say whom the body is about.
create table dead_letter (
    brand_id uuid not null,
    id uuid not null,
    provider_id uuid not null,
    event_id text not null,
    event_type text not null,
    email text,
    phone text,
    reason text not null,
    -- Emptied when it was replayed.
    body bytea not null,
    attempts integer not null default 1,
    received_at timestamptz not null default now(),
    failed_at timestamptz not null default now(),
    resolved_at timestamptz,
    primary key (brand_id, id),
    unique (brand_id, provider_id, event_id)
);
create index dead_letter_waiting on dead_letter (brand_id, received_at, id) where resolved_at is null;
call wall('dead_letter');

-- migrate:down
