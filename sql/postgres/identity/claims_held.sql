select
    coalesce(array_to_json(array_agg(value)), '[]') as values,
    coalesce(array_to_json(array_agg(subject)), '[]') as subjects
from identifier_claim
where brand_id = $1 and kind = $2 and value = any($3::text[])
