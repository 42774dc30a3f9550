select coalesce(extract(epoch from now() - min(received_at)), 0)::integer as seconds
from event_log_waiting
