select campaign_id, version, definition::text as definition
from campaign_version
where brand_id = $1 and (campaign_id, version) in (select * from unnest($2::uuid[], $3::integer[]))
