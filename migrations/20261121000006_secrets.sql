-- migrate:up

-- Secrets of the service that all its processes share, such as the key that authenticates cursors. Made on first use.
create table secret (
    name text primary key,
    value bytea not null check (length(value) >= 32),
    created_at timestamptz not null default now()
);
revoke all on secret from recoup_app, recoup_pipeline;
grant select, insert on secret to recoup_pipeline;

-- migrate:down
