-- After the clock of Postgres, or of a worker, was ahead and was set back: what was done with a brand later than now, or waits for longer than
-- anything does, would not be done again until then.
with planned as (
    update lake_brand
    set
        refresh_planned_at = case when refresh_planned_at <= now() + interval '5 minutes' then refresh_planned_at end,
        compact_planned_at = case when compact_planned_at <= now() + interval '5 minutes' then compact_planned_at end,
        -- A refresh of 15 minutes at most, 16 times as long.
        retry_at = case when retry_at <= now() + interval '5 hours' then retry_at end,
        failed_at = case when failed_at > now() + interval '5 minutes' then now() else failed_at end
    where
        greatest(refresh_planned_at, compact_planned_at, failed_at) > now() + interval '5 minutes'
        or retry_at > now() + interval '5 hours'
),

erasures as (
    update erasure
    set tried_at = null
    where state <> 'done' and tried_at > now() + interval '5 minutes'
),

channels as (
    update message_channel
    set next_send_at = now()
    where next_send_at > now() + interval '5 minutes'
),

searched as (
    update trigger_cursor
    set as_of = now()
    where as_of > now() + interval '5 minutes'
),

-- Who holds one has it for as long as any claim lasts, also by a clock that is ahead.
runs as (
    update campaign_run
    set claimed_until = now() + interval '5 minutes'
    where state = 'waiting' and due_at <= now() and claimed_until > now() + interval '10 minutes'
),

messages as (
    update message
    set claimed_until = now() + interval '5 minutes'
    where status = 'queued' and next_attempt_at <= now() and claimed_until > now() + interval '10 minutes'
),

-- One that could not be worked on waits for a minute.
triggers as (
    update trigger_event
    set due_at = now()
    where due_at > now() + interval '10 minutes'
),

removal as (
    update lake_state
    set removal_paused_until = null
    where removal_paused_until > now() + interval '1 hour'
)

update attribution_behind
set due_at = now()
-- It waits for an hour at most.
where due_at > now() + interval '65 minutes'
