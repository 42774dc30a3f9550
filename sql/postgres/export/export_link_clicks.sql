select brand_id, id as click_id, message_id, conversation_id, at at time zone 'UTC' as clicked_at, deleted
from link_click
where xid >= $1::text::xid8 and xid < $2::text::xid8
