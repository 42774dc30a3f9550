-- Something was said in them. $3: when.
update conversation
set last_message_at = greatest(last_message_at, $3::timestamptz), updated_at = $3
where brand_id = $1 and id = any($2::uuid[])
