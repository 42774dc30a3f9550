-- The next page is written; null: it was the last one. Moves on only from where it was read, so that of two at once one stops.
update store_sync
set
    position = $5,
    done = done + $6,
    total = greatest(total, done + $6),
    finished_at = case when $5::text is null then now() end,
    began_anew_at = case when $5::text is not null then began_anew_at end
where
    brand_id = $1
    and purpose = $2
    and entity = $3
    and position is not distinct from $4::text
    and finished_at is null
