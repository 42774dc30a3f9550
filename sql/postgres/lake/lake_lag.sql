select coalesce(extract(epoch from now() - min(received_at)), 0)::integer as seconds
from event_log
where xid >= (select exported_below from lake_state)
