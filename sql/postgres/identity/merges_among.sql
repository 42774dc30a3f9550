select id, from_subject, to_subject, evidence
from merge
where brand_id = $1 and undone_at is null and from_subject = any($2::integer[]) and to_subject = any($2::integer[])
order by merged_at, id
