-- migrate:up

-- Server processes that keep keys and brands in memory. Each renews its row over the connection on which it listens
-- for changes: who stops renewing, stops trusting its memory, and nobody needs to wait for it.
create table server_process (
    id uuid primary key,
    seen_at timestamptz not null default clock_timestamp()
);

-- Tells every server process, with the commit of the change itself, to forget a row that it may have read.
create function announce() returns trigger
language plpgsql
as $$
begin
    perform pg_notify('recoup_access', tg_argv[0] || ' ' || old.id);
    return null;
end
$$;

-- Not after every update: the use of a key and the next subject of a brand change often and matter to nobody.
create trigger announce_change after update of key_class, scopes, expires_at, revoked_at on api_key
for each row execute function announce('key');
create trigger announce_removal after delete on api_key
for each row execute function announce('key');
create trigger announce_change
after update of name, shop_domain, storefront_domains, currency_code, timezone, default_phone_region, features on brand
for each row execute function announce('brand');
create trigger announce_removal after delete on brand
for each row execute function announce('brand');

-- Made by staff of the service.
alter table api_key add column is_staff boolean not null default false;

-- When a bucket is full again (the theoretical arrival time of GCRA), by a hash of whose and what for. Losing it in a
-- crash gives everyone a full bucket.
create unlogged table rate_limit (
    key uuid primary key,
    full_at timestamptz not null
) with (fillfactor = 70);

-- migrate:down
