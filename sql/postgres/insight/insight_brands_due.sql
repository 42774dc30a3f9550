-- Brands whose messages are looked at now: those with some in the last 90 days ($1: now), in the small hours of their
-- time zone, or when that was missed.
select brand.id as brand_id, brand.timezone
from brand
left join insight_state on insight_state.brand_id = brand.id
where
    (
        computed_at is null
        or computed_at < $1::timestamptz - interval '26 hours'
        or (
            computed_at < $1::timestamptz - interval '20 hours'
            and extract(hour from $1::timestamptz at time zone brand.timezone) = 3
        )
    )
    and (
        exists (
            select
            from message
            where
                message.brand_id = brand.id
                and direction = 'inbound'
                and created_at > $1::timestamptz - interval '90 days'
        )
        or exists (select from conversation_insight where conversation_insight.brand_id = brand.id)
    )
order by computed_at nulls first, brand.id
