-- $2: messages, $3: their topics, $4: the brand's time zone.
insert into insight_message (brand_id, insight_id, message_id, conversation_id, at, day)
select $1, insight_id, message.id, message.conversation_id, message.created_at, (message.created_at at time zone $4::text)::date
from unnest($2::uuid[], $3::uuid[]) as given (message_id, insight_id)
join message on message.brand_id = $1 and message.id = given.message_id
