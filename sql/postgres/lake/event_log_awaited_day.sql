-- The day of the oldest batch that the lake does not hold yet, or today.
select least((now() at time zone 'UTC')::date, (min(received_at) at time zone 'UTC')::date)::text as day
from event_log_waiting
