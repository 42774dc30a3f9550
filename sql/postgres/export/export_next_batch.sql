select min(xid)::text as xid
from event_log
where xid > $1::text::xid8 and xid < $2::text::xid8
having min(xid) is not null
