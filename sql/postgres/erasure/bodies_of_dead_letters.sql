select id::text as id, body
from dead_letter
where brand_id = $1 and received_at <= $2 and body <> ''
