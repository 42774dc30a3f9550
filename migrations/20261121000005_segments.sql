-- migrate:up

create table segment (
    brand_id uuid not null references brand,
    id uuid not null,
    -- Ordinal within the brand: what the members relation of the lake carries.
    ordinal integer not null,
    name text not null,
    description text,
    status text not null default 'active' check (status in ('active', 'archived')),
    version integer not null default 1,
    current_version_id uuid not null,
    created_by text not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    -- Audience of the last run.
    evaluated_version integer,
    member_count bigint not null default 0,
    generation bigint not null default 0,
    evaluated_at timestamptz,
    last_run_at timestamptz,
    -- A run holds the segment until the lease ends; it never sticks.
    evaluating_until timestamptz,
    error text,
    primary key (brand_id, id),
    unique (brand_id, ordinal)
);
-- Names compare case-insensitively after trimming.
create unique index segment_active_name on segment (brand_id, lower(btrim(name))) where status = 'active';
create index segment_newest on segment (brand_id, created_at desc, id desc);
call wall('segment');

create table segment_version (
    brand_id uuid not null,
    segment_id uuid not null,
    version integer not null,
    id uuid not null,
    schema_version smallint not null default 1,
    -- json, not jsonb: returned as sent.
    definition json not null,
    created_by text not null,
    created_at timestamptz not null default now(),
    primary key (brand_id, segment_id, version),
    foreign key (brand_id, segment_id) references segment (brand_id, id)
);
call wall('segment_version');

-- migrate:down
