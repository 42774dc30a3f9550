-- migrate:up

-- Chunks of imported event files that are in the event log. `source` is the SHA-256 of the file and its mapping; the
-- row is written in the transaction of the batch, so that an import that is killed goes on where it was.
create table import_chunk (
    brand_id uuid not null references brand,
    source bytea not null,
    chunk integer not null,
    created_at timestamptz not null default now(),
    primary key (brand_id, source, chunk)
);
call wall('import_chunk');

-- migrate:down
