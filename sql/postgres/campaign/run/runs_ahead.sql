-- Of runs $2 those that another run of the same campaign and customer is ahead of: `ahead` is one that is to message before
-- it, within the hour, null where one has since it began. The newest checkout is ahead, else what was first; each order and
-- each event is told of.
-- `offset 0` keeps it a lookup by the key: else the planner may read all rows of a brand that is most of a table.
with asked as materialized (
    select
        run.brand_id, run.id, campaign_id, subject, created_at, due_at,
        extract(epoch from triggered_at) * case source_kind when 'checkout' then -1 else 1 end as place
    from unnest($2::uuid[]) as given (id)
    cross join lateral (select * from campaign_run where brand_id = $1 and campaign_run.id = given.id offset 0) as run
    where source_kind in ('checkout', 'segment', 'customer')
)

select asked.id, case when said.id is null then other.id end as ahead
from asked
cross join lateral subjects_of_person($1, asked.subject) as person (subject)
cross join lateral (
    select *, extract(epoch from triggered_at) * case source_kind when 'checkout' then -1 else 1 end as place
    from campaign_run
    where
        brand_id = asked.brand_id
        and campaign_run.subject = person.subject
        and campaign_run.campaign_id = asked.campaign_id
    offset 0
) as other
left join lateral (
    select message.id
    from conversation
    join message on message.brand_id = conversation.brand_id and message.conversation_id = conversation.id
    where
        conversation.brand_id = other.brand_id
        and conversation.run_id = other.id
        and message.created_at >= asked.created_at
        and message.direction = 'outbound'
        and message.answers is null
        and (message.status in ('queued', 'sent', 'delivered') or message.reason = 'send_unknown')
    limit 1
) as said on true
where
    other.id <> asked.id
    and (
        said.id is not null
        or (
            other.state = 'waiting'
            and other.step in ('check', 'split', 'message')
            and other.due_at <= asked.due_at + interval '1 hour'
            and (other.place, other.id) < (asked.place, asked.id)
        )
    )
