-- Definition $2 had the name $3 until now.
insert into event_rename (brand_id, definition_id, old_type, renamed_at)
values ($1, $2, $3, clock_timestamp())
on conflict (brand_id, definition_id, old_type) do update set renamed_at = excluded.renamed_at
