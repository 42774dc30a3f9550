-- migrate:up

-- Since when the lake has held all batches of a day of the log.
create table event_log_day (
    day date primary key,
    in_lake_since timestamptz not null default now()
);

-- migrate:down
