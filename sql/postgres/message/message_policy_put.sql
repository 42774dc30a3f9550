-- What is null stays as it is. With another window the orders of the brand are attributed anew, from the first one; with other
-- quiet hours the runs and messages that wait for their end are looked at again at once.
with anew as (
    insert into attribution_behind (brand_id, looked_below, failures)
    select $1, '0', 0
    where coalesce((select attribution_days from message_policy where brand_id = $1), 7) <> $6::integer
    on conflict (brand_id) do update
    set looked_below = '0', round_below = null, done_to = null, failures = 0, due_at = now()
),

other_hours as materialized (
    select
    from (select $2::time as quiet_from, $3::time as quiet_until) as given
    left join message_policy as known on known.brand_id = $1
    where
        coalesce(given.quiet_from, known.quiet_from, '21:00') <> coalesce(known.quiet_from, '21:00')
        or coalesce(given.quiet_until, known.quiet_until, '08:00') <> coalesce(known.quiet_until, '08:00')
),

-- Those that are in work are looked at anyway: waiting for them, as they may for each other, would be a deadlock.
waiting_runs as materialized (
    select id from campaign_run
    where
        brand_id = $1
        and state = 'waiting'
        and step = 'check'
        and exists (select from other_hours)
        and (
            select reason from run_step
            where run_step.brand_id = $1 and run_id = campaign_run.id
            order by ordinal desc
            limit 1
        ) = 'quiet_hours'
    order by id
    for update skip locked
),

runs as (
    update campaign_run
    set due_at = least(due_at, now()), updated_at = now()
    where brand_id = $1 and id = any(array(select id from waiting_runs))
),

waiting_messages as materialized (
    select id from message
    where brand_id = $1 and status = 'queued' and reason = 'quiet_hours' and exists (select from other_hours)
    order by id
    for update skip locked
),

messages as (
    update message
    set next_attempt_at = least(next_attempt_at, now())
    where brand_id = $1 and id = any(array(select id from waiting_messages))
)

insert into message_policy (
    brand_id, quiet_from, quiet_until, cap_messages, cap_days, attribution_days, sms_consent, email_consent
)
values (
    $1, coalesce($2::time, '21:00'), coalesce($3::time, '08:00'), coalesce($4::integer, 4), coalesce($5::integer, 7),
    coalesce($6::integer, 7), coalesce($7::text, 'not-refused'), coalesce($8::text, 'not-refused')
)
on conflict (brand_id) do update
set
    quiet_from = coalesce($2::time, message_policy.quiet_from),
    quiet_until = coalesce($3::time, message_policy.quiet_until),
    cap_messages = coalesce($4::integer, message_policy.cap_messages),
    cap_days = coalesce($5::integer, message_policy.cap_days),
    attribution_days = coalesce($6::integer, message_policy.attribution_days),
    sms_consent = coalesce($7::text, message_policy.sms_consent),
    email_consent = coalesce($8::text, message_policy.email_consent),
    updated_at = now()
