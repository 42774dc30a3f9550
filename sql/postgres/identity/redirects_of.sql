select subject, customer, by_browser
from subject_redirect
where brand_id = $1 and subject = any($2::integer[]) and not deleted
