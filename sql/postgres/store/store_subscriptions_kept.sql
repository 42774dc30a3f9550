select
    external_id, product_id, title, interval_unit, interval_count, price::text as price, currency_code, started_at,
    next_billing_at
from subscription
where brand_id = $1 and external_id = any($2::text[])
