-- The day of the oldest batch that the lake does not hold yet, or today. How batches are found: see lake_lag.
select least((now() at time zone 'UTC')::date, (min(received_at) at time zone 'UTC')::date)::text as day
from (
    select received_at
    from event_log
    where xid >= (select exported_below from lake_state) and xid <= '18446744073709551615'
    offset 0
) as waiting
