update segment set evaluating_until = now() + make_interval(secs => $2)
where brand_id = $1 and status = 'active' and id = any ($3::uuid[])
