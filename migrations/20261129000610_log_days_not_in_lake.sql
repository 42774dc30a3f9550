-- migrate:up

-- A batch may come into an old day after the lake was found to hold all of it, from a host whose clock is behind: such a day
-- stays until the lake has that batch, too. The log itself is locked first, as dropping does: who reads it locks it before its days.
create or replace procedure event_log_drop_before(first_kept date)
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '1s'
as $$
declare
    partition text;
    awaited boolean;
begin
    for partition in
        select child.relname
        from pg_inherits
        join pg_class child on child.oid = inhrelid
        where inhparent = 'event_log'::regclass
            and child.relname ~ '^event_log_\d{8}$'
            and to_date(right(child.relname, 8), 'YYYYMMDD') < first_kept
    loop
        lock table only event_log in access exclusive mode;
        execute format('lock table %I in access exclusive mode', partition);
        execute format(
            'select exists (select from %I where xid >= (select exported_below from lake_state))', partition
        ) into awaited;
        continue when awaited;
        execute format('drop table %I', partition);
    end loop;
end
$$;

-- migrate:down
