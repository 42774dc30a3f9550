update segment set evaluating_until = null
where brand_id = $1 and evaluating_until is not null
