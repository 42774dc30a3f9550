select state, source
from contact_consent
where brand_id = $1 and contact_id = $2 and channel = $3
order by at desc
limit 1
