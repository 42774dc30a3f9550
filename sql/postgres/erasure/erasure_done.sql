update erasure
set state = 'done', completed_at = $4, certificate = $3::text::jsonb, identifiers = null, error = null
where brand_id = $1 and id = $2 and state <> 'done'
