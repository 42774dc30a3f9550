select from_subject as "from", to_subject as "to"
from merge
where brand_id = $1 and barred
