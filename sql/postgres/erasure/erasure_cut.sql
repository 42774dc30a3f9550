-- Whoever asks again from now on asks about what came since.
update erasure
set
    state = 'erasing', whom = null, subjects = $3::integer[], customer_ids = $4::text[], identifiers = $5::text::jsonb,
    erased_at = $6, cut_below = pg_snapshot_xmax(pg_current_snapshot())
where brand_id = $1 and id = $2
