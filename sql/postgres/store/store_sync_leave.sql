-- What the store does not give any more is left: a back-fill that was in the middle of it ($2) begins anew once it does.
update store_sync
set position = null, done = 0
where brand_id = $1 and purpose = 'backfill' and entity = $2 and finished_at is null and position is not null
