-- OFFSET has the batches that wait found by their xid: the least time of all is looked for from the oldest day of the log
-- on, past every batch that the lake has. The upper bound is true of all: of a range Postgres expects few. Where 1,000 of
-- 604,000 batches waited that took 0.6 ms, and 220 without.
select coalesce(extract(epoch from now() - min(received_at)), 0)::integer as seconds
from (
    select received_at
    from event_log
    where xid >= (select exported_below from lake_state) and xid <= '18446744073709551615'
    offset 0
) as waiting
