select brand_id, value as visitor_id, subject, false as deleted
from identifier
where kind = 'anonymous_id' and xid >= $1::text::xid8 and xid < $2::text::xid8
