update segment set evaluating_until = null
where brand_id = $1 and id = any ($2::uuid[]) and evaluating_until is not null
