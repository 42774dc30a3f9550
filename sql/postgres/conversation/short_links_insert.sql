insert into short_link (brand_id, id, code, message_id, conversation_id, campaign_id, kind, url)
select $1, id, code, message_id, conversation_id, campaign_id, kind, url
from unnest(
    $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::text[]
) as given (
    id, code, message_id, conversation_id, campaign_id, kind, url
)
