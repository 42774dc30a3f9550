-- $3: those of visitors, too.
select coalesce(array_to_json(array_agg(id)), '[]') as values, coalesce(array_to_json(array_agg(subject)), '[]') as subjects
from customer
where brand_id = $1 and id = any($2::text[]) and erased_at is null and ($3 or provenance <> 'pixel')
