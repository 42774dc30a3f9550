-- What deliveries with an id of their sender's ($2) told of, of two providers at most. By the key, provider by provider.
select delivery.custom_event_id as record
from provider
cross join lateral (
    select custom_event_id
    from custom_delivery
    where brand_id = $1 and provider_id = provider.id and event_id = $2
    offset 0
) as delivery
where provider.brand_id = $1
limit 2
