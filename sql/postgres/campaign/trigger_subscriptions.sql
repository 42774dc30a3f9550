select external_id as id, product_id, title, price::text as price, currency_code
from subscription
where brand_id = $1 and external_id = any($2::text[])
