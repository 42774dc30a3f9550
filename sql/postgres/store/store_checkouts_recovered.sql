select external_id, coalesce(subject, 0) as subject, total::text as total, currency_code, url, completed_at, items
from checkout
where brand_id = $1 and external_id = any($2::text[]) and state = 'recovered'
