-- migrate:up

-- One row per record batch: the zstd-compressed NDJSON lines of every request that waited when a connection was free,
-- of any brand. batch_id and received_at are made by the process, so that inserting a batch again is a no-op.
create table event_log (
    received_at timestamptz not null,
    batch_id uuid not null,
    xid xid8 not null default pg_current_xact_id(),
    event_count integer not null check (event_count > 0),
    payload bytea not null,
    primary key (received_at, batch_id)
) partition by range (received_at);

-- The payload is compressed already: no second attempt at it.
alter table event_log alter column payload set storage external;

-- Rows hold events of any brand: the app adds to them and never reads them.
grant insert on event_log to recoup_app;

create index event_log_xid on event_log (xid);
create table event_log_default partition of event_log default;

-- Days are partitions made ahead by the retention job; the default partition catches what no day covers.
create procedure event_log_days(first_day date, last_day date)
language plpgsql security definer set search_path = public, pg_temp
as $$
declare
    day date;
    partition text;
begin
    for day in select generate_series(first_day, last_day, interval '1 day')::date loop
        partition := format('event_log_%s', to_char(day, 'YYYYMMDD'));
        if to_regclass(partition) is null then
            execute format('create table %I (like event_log including defaults including constraints including storage)', partition);
            execute format(
                'alter table event_log attach partition %I for values from (%L) to (%L)',
                partition, day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC'
            );
        end if;
    end loop;
end
$$;

-- Drops the partitions of days that ended before the given day; the caller has checked that the lake holds them.
create procedure event_log_drop_before(first_kept date)
language plpgsql security definer set search_path = public, pg_temp
as $$
declare
    partition text;
begin
    for partition in
        select child.relname
        from pg_inherits
        join pg_class child on child.oid = inhrelid
        where inhparent = 'event_log'::regclass
            and child.relname ~ '^event_log_\d{8}$'
            and to_date(right(child.relname, 8), 'YYYYMMDD') < first_kept
    loop
        execute format('drop table %I', partition);
    end loop;
end
$$;

revoke execute on procedure event_log_days, event_log_drop_before from public;
grant execute on procedure event_log_days, event_log_drop_before to recoup_pipeline;

call event_log_days((now() at time zone 'UTC')::date - 1, (now() at time zone 'UTC')::date + 7);

-- Lines that could not become a lake row, kept with the reason.
create table dead_event (
    batch_id uuid not null,
    line integer not null,
    brand_id uuid,
    reason text not null,
    payload bytea not null,
    created_at timestamptz not null default now(),
    primary key (batch_id, line)
);

-- migrate:down
