insert into short_link (brand_id, id, code, message_id, conversation_id, campaign_id, kind, url)
values ($1, $2, $3, $4, $5, $6, $7, $8)
