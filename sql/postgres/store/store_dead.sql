-- The newest ones; how many there are says store_status.
select webhook_id, topic, triggered_at, received_at, reason
from store_delivery
where brand_id = $1 and outcome = 'dead'
order by received_at desc, webhook_id desc
limit 100
