-- $2: when.
insert into run_step (
    brand_id, run_id, ordinal, id, at, step, state, event_type, event_id, conversation_id, message_id, reason, error
)
select $1, run_id, ordinal, id, $2, step, state, event_type, event_id, conversation_id, message_id, reason, error
from unnest(
    $3::uuid[], $4::integer[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::uuid[], $11::uuid[],
    $12::text[], $13::text[]
) as given (
    run_id, ordinal, id, step, state, event_type, event_id, conversation_id, message_id, reason, error
)
