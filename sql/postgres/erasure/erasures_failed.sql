update erasure set state = 'failed', failures = failures + 1, error = $3, tried_at = now()
where brand_id = $1 and id = any($2::uuid[]) and state <> 'done'
