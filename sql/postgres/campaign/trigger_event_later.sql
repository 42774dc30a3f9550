-- One that fails waits, and is given up after a day. $3: until when.
with given_up as (
    delete from trigger_event
    where brand_id = $1 and event_id = $2 and added_at < now() - interval '1 day'
)

update trigger_event set due_at = $3
where brand_id = $1 and event_id = $2 and added_at >= now() - interval '1 day'
