-- One that waits ends here: there is nobody to go on with. Ids of senders stay as hashes; those of the store's records lead
-- to journeys. What began once more while an erasure committed has the hash of the one before it, and gets one of its own.
with theirs as (
    select brand_id, id, state
    from campaign_run
    where brand_id = $1
        and (subject = any($2::integer[]) or contact_id = any(array(select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5))))
    order by id
    for update
),

told as (
    insert into run_step (brand_id, run_id, ordinal, id, at, step, state, reason)
    select
        $1, id,
        coalesce((select max(ordinal) + 1 from run_step where run_step.brand_id = theirs.brand_id and run_id = theirs.id), 0),
        gen_random_uuid(), now(), 'end', 'stopped', 'contact_erased'
    from theirs
    where state = 'waiting'
)

update campaign_run
set
    contact_id = null, subject = null, facts = '{}', updated_at = now(), event_id = null,
    occurrence = case
        when exists (
            select from campaign_run as before
            where
                before.brand_id = campaign_run.brand_id
                and before.campaign_id = campaign_run.campaign_id
                and before.occurrence = erased_id($1, campaign_run.occurrence)
        ) then erased_id($1, campaign_run.id::text)
        else erased_id($1, occurrence)
    end,
    source_id = case when source_kind in ('custom_event', 'subscription_event') then erased_id($1, source_id) else source_id end,
    state = 'ended', step = 'end', due_at = null, claim = null, claimed_until = null,
    outcome = coalesce(outcome, 'stopped'), ended_at = coalesce(ended_at, now())
from theirs
where campaign_run.brand_id = theirs.brand_id and campaign_run.id = theirs.id
