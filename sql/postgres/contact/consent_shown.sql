select case when $3 = 'sms' then sms_consent else email_consent end as state
from contact
where brand_id = $1 and id = $2
