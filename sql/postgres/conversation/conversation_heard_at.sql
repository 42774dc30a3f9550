-- When somebody wrote, by a clock ($3) that may be behind: not before what they were sent in the conversation.
select greatest($3::timestamptz, max(sent_at)) as at
from message
where brand_id = $1 and conversation_id = $2 and direction = 'outbound'
