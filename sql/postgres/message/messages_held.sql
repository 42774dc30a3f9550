-- Messages $2 that claim $3 (null: the transaction itself) holds, locked, with what is known of whom they go to and of the run that wrote them.
-- `offset 0` keeps it a lookup by the key: else the planner may read all rows of a brand that is most of a table.
select
    message.id, message.conversation_id, message.contact_id, message.idempotency_key, message.channel, headline, body,
    answers, message.created_at as written_at, message.attempts, begun_at, may_have_arrived,
    gateway_replaced, coalesce(campaign.status = 'active', true) as is_active,
    version.definition ->> 'ends_at' as ends_at,
    contact.email, contact.phone, sms_consent, email_consent,
    (
        select code from short_link where short_link.brand_id = message.brand_id and message_id = message.id and kind = 'opt_out' limit 1
    ) as opt_out_code,
    run.id as run_id,
    case
        when run.id is not null
        then least(
            run.bought_at,
            bought_since(
                run.brand_id, run.subject, run.source_kind, run.source_id, coalesce(run.orders_since, run.triggered_at)
            )
        )
    end as bought_at
from (select id from unnest($2::uuid[]) as id order by id) as asked
cross join lateral (select * from message where message.brand_id = $1 and message.id = asked.id offset 0) as message
join conversation on conversation.brand_id = message.brand_id and conversation.id = message.conversation_id
left join campaign on campaign.brand_id = message.brand_id and campaign.id = conversation.campaign_id
left join contact on contact.brand_id = message.brand_id and contact.id = message.contact_id
left join campaign_run as run on run.brand_id = message.brand_id and run.id = conversation.run_id
left join campaign_version as version
    on version.brand_id = run.brand_id and version.campaign_id = run.campaign_id and version.version = run.version
where ($3::uuid is null or message.claim = $3::uuid) and message.status = 'queued'
order by message.id
for update of message
