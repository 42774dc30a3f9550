-- What made it fail is over.
update erasure set tried_at = null where brand_id = $1 and id = $2 and state = 'failed'
