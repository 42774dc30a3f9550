select
    (select refused_topics from store_connection where brand_id = $1) as refused_topics,
    (select count(*) from store_delivery where brand_id = $1 and outcome = 'dead') as dead,
    (
        select max(received_at) from store_delivery
        -- Not what walks noted.
        where brand_id = $1 and split_part(topic, '/', 2) not in ('backfill', 'reconcile')
    ) as last_webhook_at,
    (select count(*) from store_event where brand_id = $1 and waits_for is not null) as events_waiting,
    (select count(*) from data_request where brand_id = $1 and answered_at is null) as data_requests
