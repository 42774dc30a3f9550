-- Finished walks of back-fill begin anew, unless one is in the middle.
update store_sync
set position = null, done = 0, started_at = least($2, now()), finished_at = null
where
    brand_id = $1
    and purpose = 'backfill'
    and finished_at is not null
    and not exists (
        select
        from store_sync as begun
        where begun.brand_id = $1 and begun.purpose = 'backfill' and begun.finished_at is null and begun.position is not null
    )
