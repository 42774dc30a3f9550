-- migrate:up

-- Apart from the sealed secrets of the service: statements and triggers hash with it. Made with the first erasure.
create table tombstone_key (
    only_row boolean primary key default true check (only_row),
    value bytea not null check (length(value) >= 32)
);
revoke all on tombstone_key from recoup_app, recoup_pipeline;
grant select, insert on tombstone_key to recoup_pipeline;

create or replace function tombstone_hash(brand uuid, kind text, identifier text) returns bytea
language sql stable security definer set search_path = public, pg_temp
return (
    select sha256(value || sha256(value || convert_to(brand || ' ' || kind || ' ' || identifier, 'UTF8')))
    from tombstone_key
);

-- migrate:down
