-- Lines that cannot become a lake row, with the reason.
select
    n,
    try_cast(brand_id as uuid)::varchar as brand_id,
    case
        when try_cast(brand_id as uuid) is null then 'brand_id is not a UUID'
        when brand_id not in (from brands) then 'there is no such brand'
        when event_type is null then 'event_type is missing'
        when received_at is null then 'received_at is not a time in milliseconds'
        when occurred_at is null then 'occurred_at is not a time in milliseconds'
        else 'the event names nobody'
    end as reason
from lines
where
    not erased
    and (
        brand_id is null
        or brand_id not in (from brands)
        or event_type is null
        or received_at is null
        or occurred_at is null
        -- A browser may keep no id for a page: what happened there counts, though for nobody.
        or (not by_browser and coalesce(store_customer_id, profile_id, email, phone, anonymous_id) is null)
    )
order by n
