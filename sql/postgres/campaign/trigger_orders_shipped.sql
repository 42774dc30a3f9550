-- Orders of which everything that was sent off is on its way, and nothing is held back.
select order_external_id as order_id
from fulfillment
where brand_id = $1 and order_external_id = any($2::text[]) and status not in ('cancelled', 'error', 'failure')
group by order_external_id
having bool_and(status = 'success')
