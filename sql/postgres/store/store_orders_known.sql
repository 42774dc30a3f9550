select external_id, coalesce(subject, 0) as subject, test, erased, currency_code
from store_order
where brand_id = $1 and external_id = any($2::text[])
