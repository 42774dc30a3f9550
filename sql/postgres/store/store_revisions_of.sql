select external_id, occurred_at, active, paused
from subscription_revision
where brand_id = $1 and external_id = any($2::text[])
order by external_id, revision
