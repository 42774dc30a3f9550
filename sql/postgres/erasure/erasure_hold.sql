select state, whom, erased_at
from erasure
where brand_id = $1 and id = $2
for update
