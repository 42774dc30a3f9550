-- Runs $2, which the transaction has locked, with what they are judged by.
-- `offset 0` keeps it a lookup by the key: else the planner may read all rows of a brand that is most of a table.
select
    run.id, run.campaign_id, run.version, run.contact_id, run.subject, coalesce(redirect.customer, run.subject) as customer,
    run.trigger_event, run.event_id, run.source_kind, run.source_id, run.triggered_at, run.facts, run.branch, run.step, run.former_outcome,
    run.attempts,
    campaign.status = 'active' as is_active,
    least(
        run.bought_at,
        bought_since(
            run.brand_id, run.subject, run.source_kind, run.source_id, coalesce(run.orders_since, run.triggered_at)
        )
    ) as bought_at,
    coalesce((select max(ordinal) + 1 from run_step where run_step.brand_id = run.brand_id and run_id = run.id), 0) as ordinal,
    case
        when run.source_kind = 'checkout'
        then (select checkout.id from checkout where checkout.brand_id = run.brand_id and external_id = run.source_id)
    end as checkout_id,
    said.sent_at, said.status = 'queued' as is_unsent, said.due_at as sending_due_at
from unnest($2::uuid[]) as asked (id)
cross join lateral (select * from campaign_run where campaign_run.brand_id = $1 and campaign_run.id = asked.id offset 0) as run
join campaign on campaign.brand_id = run.brand_id and campaign.id = run.campaign_id
left join subject_redirect as redirect
    on redirect.brand_id = run.brand_id and redirect.subject = run.subject and not redirect.deleted
-- The message that a run waits after.
left join lateral (
    select message.sent_at, message.status, greatest(message.next_attempt_at, message.claimed_until) as due_at
    from conversation
    join message on message.brand_id = conversation.brand_id and message.conversation_id = conversation.id
    where
        run.step = 'wait'
        and conversation.brand_id = run.brand_id
        and conversation.run_id = run.id
        and direction = 'outbound'
        and answers is null
    limit 1
) as said on true
order by run.id
