-- Brands with campaigns that start at what refreshes find, and with results that were not searched yet: of a later instant,
-- or of segments that were evaluated again as of one that was searched.
select
    lake_brand.brand_id, lake_brand.generation, lake_brand.as_of,
    coalesce(searched.generation, 0) as searched_generation,
    min(greatest(awaits_since, activated_at)) as awaited_since,
    greatest(searched.as_of, min(greatest(awaits_since, activated_at))) as since,
    -- Of an earlier instant it says nothing of who was at risk as a campaign was turned on.
    case when searched.as_of >= min(greatest(awaits_since, activated_at)) then searched.usual_days end as usual_days
from campaign
join lake_brand on lake_brand.brand_id = campaign.brand_id
left join trigger_cursor as searched on searched.brand_id = campaign.brand_id
where
    status = 'active'
    and trigger_event in ('browse_abandoned', 'customer_winback', 'segment_entered')
    and lake_brand.as_of > greatest(awaits_since, activated_at)
    and (
        searched.as_of is null
        or lake_brand.as_of > searched.as_of
        or (select max(segment.generation) from segment where segment.brand_id = lake_brand.brand_id) > searched.generation
    )
group by
    lake_brand.brand_id, lake_brand.generation, lake_brand.as_of, searched.generation, searched.as_of, searched.usual_days
order by lake_brand.brand_id
