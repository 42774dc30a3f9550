-- migrate:up

-- The snapshot's cursor. tick counts publishes; rows with xid below exported_below are in the lake.
create table lake_state (
    only_row boolean primary key default true check (only_row),
    tick bigint not null default 0,
    exported_below xid8 not null default '0',
    -- Removal of retired files waits while a backup copies the lake.
    removal_paused_until timestamptz
);
insert into lake_state default values;

-- The lake's side of a brand. Every change of it is a compare-and-set on the columns that the change read.
create table lake_brand (
    brand_id uuid primary key references brand,
    -- Newest tick that wrote rows of the brand.
    changed_tick bigint not null default 0,
    -- relation → tick: staged rows up to it are in the brand's own files.
    cut_ticks jsonb not null default '{}',
    -- Published results: the generation counts publishes that changed members or models.
    generation bigint not null default 0,
    served_path text,
    results jsonb not null default '{}',
    as_of timestamptz,
    refreshed_tick bigint not null default -1,
    definitions_version bigint not null default 0,
    refreshed_definitions_version bigint not null default -1,
    refreshed_at timestamptz,
    refresh_ms integer,
    -- When the planner last handed the brand to a worker, for either kind of work.
    refresh_planned_at timestamptz,
    compact_planned_at timestamptz,
    -- Set when a step failed; three in a row set the brand aside until the next change or a refresh by hand.
    failures integer not null default 0,
    error text
);
call wall('lake_brand');

-- The manifest: the only list of lake files. brand_id is null for the shared staging files.
create table lake_file (
    id bigint generated always as identity primary key,
    brand_id uuid references brand,
    relation text not null,
    path text not null unique,
    level smallint not null,
    schema_version smallint not null,
    rows bigint not null,
    bytes bigint not null,
    tick_lo bigint not null,
    tick_hi bigint not null,
    occurred_lo timestamptz,
    occurred_hi timestamptz,
    sha256 bytea not null,
    created_at timestamptz not null default now(),
    retired_at timestamptz
);
create index lake_file_live on lake_file (brand_id, relation) where retired_at is null;
create index lake_file_retired on lake_file (retired_at) where retired_at is not null;
call wall('lake_file');

-- Rows of a staging file per brand: which brands it concerns without opening it.
create table staged_rows (
    file_id bigint not null references lake_file on delete cascade,
    brand_id uuid not null references brand,
    rows bigint not null,
    primary key (brand_id, file_id)
);
create index staged_rows_file on staged_rows (file_id);
call wall('staged_rows');

-- migrate:down
