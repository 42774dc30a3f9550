-- When their shoppers were last messaged about them: one that is completed later was recovered. $3: now.
update checkout
set messaged_at = greatest(messaged_at, $3::timestamptz)
where brand_id = $1 and id = any($2::uuid[])
