-- Topics by how many messages since a day ($2) were about them, behind a place ($3, $4).
with counted as (
    select brand_id, insight_id, day, count(*)::integer as messages, max(at) as last_at
    from insight_message
    where brand_id = $1 and day >= $2::date
    group by brand_id, insight_id, day
),

summed as (
    select
        brand_id,
        insight_id,
        max(last_at) as last_message_at,
        sum(messages)::integer as message_count,
        json_agg(json_build_object('date', day, 'count', messages) order by day) as days
    from counted
    group by brand_id, insight_id
)

select
    insight.id, topic, keywords, message_count, days,
    (
        select count(distinct conversation_id)::integer
        from insight_message
        where insight_message.brand_id = insight.brand_id and insight_id = insight.id and day >= $2::date
    ) as conversation_count,
    last_message_at
from summed
join conversation_insight as insight on insight.brand_id = summed.brand_id and insight.id = summed.insight_id
where $3::integer is null or (message_count, insight.id) < ($3::integer, $4::uuid)
order by message_count desc, insight.id desc
limit $5
