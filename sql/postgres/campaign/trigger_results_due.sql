-- Brands with campaigns that start at what refreshes find, and with results that were not searched yet.
select
    lake_brand.brand_id, lake_brand.generation, lake_brand.as_of,
    greatest(searched.as_of, min(greatest(awaits_since, activated_at))) as since
from campaign
join lake_brand on lake_brand.brand_id = campaign.brand_id
left join trigger_cursor as searched on searched.brand_id = campaign.brand_id
where
    status = 'active'
    and trigger_event in ('browse_abandoned', 'customer_winback', 'segment_entered')
    and lake_brand.as_of > greatest(searched.as_of, awaits_since, activated_at)
group by lake_brand.brand_id, lake_brand.generation, lake_brand.as_of, searched.as_of
order by lake_brand.brand_id
