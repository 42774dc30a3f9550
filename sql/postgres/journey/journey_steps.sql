select run_id, at, state, step, id as step_id, event_type, event_id, conversation_id, reason, error
from run_step
where brand_id = $1 and run_id = any($2::uuid[])
order by run_id, ordinal
