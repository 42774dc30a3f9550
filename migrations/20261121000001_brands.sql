-- migrate:up

-- Two roles beside the owner that migrates. The service connects as the owner and takes one of them at start-up:
-- recoup_app sees one brand at a time, recoup_pipeline sees all (event log, planner, snapshot, retention).
do $$
begin
    if not exists (select from pg_roles where rolname = 'recoup_app') then
        create role recoup_app nologin nobypassrls;
    end if;
    if not exists (select from pg_roles where rolname = 'recoup_pipeline') then
        create role recoup_pipeline nologin nobypassrls;
    end if;
    -- Not needed, and perhaps not allowed, where an administrator has made the roles beforehand.
    if not (pg_has_role('recoup_app', 'set') and pg_has_role('recoup_pipeline', 'set')) then
        execute format('grant recoup_app, recoup_pipeline to %I', current_user);
    end if;
end
$$;

grant usage on schema public to recoup_app, recoup_pipeline;
grant select on schema_migrations to recoup_pipeline;
-- The app gets nothing by default: it may touch a table when the table is walled, or when a migration says so.
alter default privileges in schema public grant select, insert, update, delete on tables to recoup_pipeline;
alter default privileges in schema public grant usage, select on sequences to recoup_app, recoup_pipeline;

create function current_brand() returns uuid
language sql stable parallel safe
return nullif(current_setting('app.brand', true), '')::uuid;

-- Puts a table behind the wall: forced row-level security, one brand for the app, all for the pipeline.
create procedure wall(relation regclass, brand_column name default 'brand_id')
language plpgsql
as $$
begin
    execute format('alter table %s enable row level security', relation);
    execute format('alter table %s force row level security', relation);
    execute format(
        'create policy one_brand on %s to recoup_app using (%I = (select current_brand())) with check (%I = (select current_brand()))',
        relation, brand_column, brand_column
    );
    execute format('grant select, insert, update, delete on %s to recoup_app', relation);
    execute format('create policy all_brands on %s to recoup_pipeline using (true) with check (true)', relation);
    execute format('create policy owner_all on %s to %I using (true) with check (true)', relation, current_user);
end
$$;

create table brand (
    id uuid primary key,
    name text not null check (length(name) between 1 and 200),
    shop_domain text not null unique,
    storefront_domains text[] not null default '{}',
    currency_code text not null default 'USD' check (currency_code ~ '^[A-Z]{3}$'),
    timezone text not null default 'UTC',
    default_phone_region text not null default 'US' check (default_phone_region ~ '^[A-Z]{2}$'),
    features text[] not null default '{}',
    -- Next free subject ordinal of the brand: taken in blocks under this row's lock.
    next_subject integer not null default 1,
    created_at timestamptz not null default now()
);
call wall('brand', 'id');

create table api_key (
    brand_id uuid not null references brand,
    id uuid not null,
    key_prefix text not null,
    key_hash bytea not null unique,
    key_class text not null check (key_class in ('cdp', 'brand-api')),
    name text,
    scopes text[] not null,
    created_at timestamptz not null default now(),
    last_used_at timestamptz,
    expires_at timestamptz,
    revoked_at timestamptz,
    primary key (brand_id, id)
);
call wall('api_key');

-- migrate:down
