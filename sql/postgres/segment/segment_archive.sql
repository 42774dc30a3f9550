update segment set status = 'archived', evaluating_until = null, updated_at = now()
where brand_id = $1 and id = $2
