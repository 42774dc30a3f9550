-- Conversations that runs begin. $2: now.
insert into conversation (
    brand_id, id, contact_id, subject, campaign_id, run_id, channel, checkout_id, goal_until, last_message_at, created_at,
    updated_at
)
select $1, id, contact_id, subject, campaign_id, run_id, channel, checkout_id, goal_until, $2, $2, $2
from unnest(
    $3::uuid[], $4::uuid[], $5::integer[], $6::uuid[], $7::uuid[], $8::text[], $9::uuid[], $10::timestamptz[]
) as given (
    id, contact_id, subject, campaign_id, run_id, channel, checkout_id, goal_until
)
