-- migrate:up

-- A day that batches of stand in the default partition, since none was made ahead for longer than a week, could not be made
-- any more: they move into it. Those who read the log for long, such as a backup, are not waited for, since whoever
-- adds to the log would wait as well: the next hour tries again.
create or replace procedure event_log_days(first_day date, last_day date)
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '1s'
as $$
declare
    day date;
    partition text;
    starts timestamptz;
    ends timestamptz;
begin
    for day in select generate_series(first_day, last_day, interval '1 day')::date loop
        partition := format('event_log_%s', to_char(day, 'YYYYMMDD'));
        starts := day::timestamp at time zone 'UTC';
        ends := (day + 1)::timestamp at time zone 'UTC';
        continue when to_regclass(partition) is not null;
        execute format('create table %I (like event_log including defaults including constraints including storage)', partition);
        if exists (select from event_log_default where received_at >= starts and received_at < ends) then
            -- Of a day that goes on more come while they move.
            if ends > now() then
                lock table event_log_default in access exclusive mode;
            end if;
            execute format(
                'with moved as (delete from event_log_default where received_at >= %L and received_at < %L returning *)
                insert into %I select * from moved',
                starts, ends, partition
            );
        end if;
        execute format('alter table event_log attach partition %I for values from (%L) to (%L)', partition, starts, ends);
    end loop;
end
$$;

alter procedure event_log_drop_before(date) set lock_timeout = '1s';

-- migrate:down
