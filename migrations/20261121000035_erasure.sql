-- migrate:up

-- Requests to erase a customer, and what became of each.
create table erasure (
    brand_id uuid not null references brand,
    id uuid not null,
    -- erasing: identity is cut (see tombstone) and copies are being removed; failed: will be tried again.
    state text not null default 'requested' check (state in ('requested', 'erasing', 'done', 'failed')),
    requested_by text not null,
    requested_at timestamptz not null default now(),
    due_at timestamptz not null default now() + interval '30 days',
    -- The identifiers that were named, and all that were found with them: { kind: [value] }. Gone when it is done.
    whom jsonb,
    identifiers jsonb,
    -- Of the customer and of those merged into it.
    subjects integer[] not null default '{}',
    customer_ids text[] not null default '{}',
    -- The moment of the cut: what happened up to it is erased and stays out.
    erased_at timestamptz,
    -- What each step removed.
    counts jsonb not null default '{}',
    failures integer not null default 0,
    error text,
    tried_at timestamptz,
    completed_at timestamptz,
    certificate jsonb,
    primary key (brand_id, id)
);
create unique index erasure_open on erasure (brand_id, whom) where state <> 'done';
create index erasure_waiting on erasure (tried_at) where state <> 'done';
call wall('erasure');

-- Identifiers of erased customers: data from before erased_at that names one stays out. Hashed with a key, so that a
-- list of them tells nobody who it was and cannot be tested against guesses.
create table tombstone (
    brand_id uuid not null,
    hash bytea not null,
    erased_at timestamptz not null,
    primary key (brand_id, hash)
);
create index tombstone_newest on tombstone (brand_id, erased_at);
call wall('tombstone');

-- The key is made with the first erasure and stays in the database: statements and triggers need it. Two rounds, since
-- a single one could be extended.
create function tombstone_hash(brand uuid, kind text, identifier text) returns bytea
language sql stable security definer set search_path = public, pg_temp
return (
    select sha256(value || sha256(value || convert_to(brand || ' ' || kind || ' ' || identifier, 'UTF8')))
    from secret
    where name = 'tombstones'
);
revoke execute on function tombstone_hash from public;
grant execute on function tombstone_hash to recoup_app, recoup_pipeline;

-- Lines of the event log that the snapshot left out because they tell of an erased customer, until they are removed.
create table erased_line (
    batch_id uuid not null,
    line integer not null,
    primary key (batch_id, line)
);

-- Where imports wrote the rows that they refused.
create table import_rejects (
    brand_id uuid not null references brand,
    path text not null,
    created_at timestamptz not null default now(),
    primary key (brand_id, path)
);
call wall('import_rejects');

-- Counts erasures. Work on the lake that began before one must not publish after it.
alter table lake_state add column erasures bigint not null default 0;
alter table lake_brand add column erasures bigint not null default 0;

-- An erased customer keeps its row as a tombstone, with ids and nothing else. One who comes back is somebody new, whom
-- the store knows by the same id.
alter table customer add column erased_at timestamptz;
alter table customer drop constraint customer_brand_id_id_key;
create unique index customer_id on customer (brand_id, id) where erased_at is null;

-- However an order comes back from before the erasure, it comes without a name.
create function keep_erased_out() returns trigger
language plpgsql
as $$
begin
    if exists (select from tombstone where brand_id = new.brand_id and erased_at >= new.created_at) and exists (
        select from tombstone
        where brand_id = new.brand_id
            and erased_at >= new.created_at
            and hash in (
                tombstone_hash(new.brand_id, 'email', lower(btrim(new.email))),
                tombstone_hash(new.brand_id, 'phone', new.phone)
            )
    ) then
        new.email := null;
        new.phone := null;
        -- Somebody else may have ordered with the same address.
        if new.subject is null then
            new.number := null;
            new.discount_codes := '{}';
        end if;
    end if;
    return new;
end
$$;

create trigger keep_erased_out before insert or update of email, phone, created_at on store_order
for each row when (new.email is not null or new.phone is not null) execute function keep_erased_out();

-- migrate:down
