insert into link_click (brand_id, id, link_id, message_id, conversation_id, at)
values ($1, $2, $3, $4, $5, $6)
