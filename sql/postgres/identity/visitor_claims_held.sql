select
    coalesce(array_to_json(array_agg(value order by claimed_at, subject)), '[]') as values,
    coalesce(array_to_json(array_agg(subject order by claimed_at, subject)), '[]') as subjects
from visitor_claim
where brand_id = $1 and kind = $2 and value = any($3::text[])
