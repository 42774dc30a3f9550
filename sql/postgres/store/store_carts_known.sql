select external_id, subject
from store_cart
where brand_id = $1 and external_id = any($2::text[])
