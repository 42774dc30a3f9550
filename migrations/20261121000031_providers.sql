-- migrate:up

-- Custom data sources of a brand. Their events come by signed webhook.
create table provider (
    brand_id uuid not null references brand,
    id uuid not null,
    key text not null,
    name text not null,
    -- The last part of the webhook URL. Says alone whose a delivery is, and stays when the secret is replaced.
    lookup_id text not null unique,
    source_template_key text,
    is_enabled boolean not null default true,
    -- Not jsonb: returned as sent.
    settings json not null default '{}',
    -- Sealed (src/access/seal.ts); null: none is set, and no delivery is accepted.
    webhook_secret bytea,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (brand_id, id),
    unique (brand_id, key)
);
call wall('provider');

-- Server processes keep what a webhook needs of a provider in memory.
create trigger announce_change after update of lookup_id, is_enabled, webhook_secret on provider
for each row execute function announce('provider');
create trigger announce_removal after delete on provider
for each row execute function announce('provider');

-- An event type of a provider, how its data must look, and where it says whom it is about.
create table event_definition (
    brand_id uuid not null,
    id uuid not null,
    provider_id uuid not null,
    type text not null,
    name text not null,
    description text,
    payload_schema json not null,
    identifier_mappings json not null,
    -- Counts the changes of payload_schema: whoever changes it says which one they knew.
    schema_version integer not null default 1,
    source_template_key text,
    is_enabled boolean not null default true,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (brand_id, id),
    unique (brand_id, provider_id, type),
    foreign key (brand_id, provider_id) references provider (brand_id, id)
);
call wall('event_definition');

-- migrate:down
