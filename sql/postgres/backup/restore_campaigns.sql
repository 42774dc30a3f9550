-- What the service did after the backup was made is not known here. What it was to send by now may have been sent, and what
-- happened by now may have started campaigns: neither is done again. Whoever entered a segment meanwhile is found again within
-- four hours, by when every segment had its turn: until then entries start nothing.
with unsent as (
    update message
    set
        status = 'failed', reason = 'send_unknown', failed_at = now(), next_attempt_at = null, claim = null,
        claimed_until = null, begun_at = null
    where status = 'queued' and (next_attempt_at <= now() or begun_at is not null)
    returning brand_id, id, conversation_id, answers
),

unsent_of_run as (
    select unsent.brand_id, run_id, unsent.id as message_id, conversation_id, answers
    from unsent
    join conversation on conversation.brand_id = unsent.brand_id and conversation.id = conversation_id
    where run_id is not null
),

ended as (
    update campaign_run as run
    set
        state = 'ended', step = 'end', due_at = null,
        outcome = coalesce(case when step = 'reply' then former_outcome end, 'failed'), ended_at = now(), updated_at = now(),
        claim = null, claimed_until = null
    where
        state = 'waiting'
        and (
            (step <> 'wait' and due_at <= now())
            or exists (
                select
                from unsent_of_run
                where unsent_of_run.brand_id = run.brand_id and run_id = run.id and answers is null
            )
        )
    returning brand_id, id
),

told as (
    select brand_id, run_id, message_id, conversation_id
    from unsent_of_run
    union all
    select brand_id, id, null, null
    from ended
    where not exists (select from unsent_of_run where unsent_of_run.brand_id = ended.brand_id and run_id = ended.id)
),

steps as (
    insert into run_step (brand_id, run_id, ordinal, id, at, step, state, conversation_id, message_id, reason, error)
    select
        brand_id, run_id,
        coalesce((select max(ordinal) from run_step where run_step.brand_id = told.brand_id and run_step.run_id = told.run_id), -1)
        + row_number() over (partition by brand_id, run_id order by message_id),
        gen_random_uuid(), now(), 'message', 'failed', conversation_id, message_id, 'send_unknown',
        'It was due after the backup was made that the service was restored from.'
    from told
),

campaigns as (
    update campaign
    set awaits_since = now() + case when trigger_event = 'segment_entered' then interval '5 hours' else interval '0' end
    where status = 'active'
    returning brand_id
)

select
    (select count(*) from unsent)::integer as messages,
    (select count(*) from ended)::integer as runs,
    (select count(*) from campaigns)::integer as campaigns
