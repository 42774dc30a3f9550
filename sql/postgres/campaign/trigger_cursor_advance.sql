-- Never back. $2: generation, $3: as of, $4: the brand's usual days.
insert into trigger_cursor (brand_id, generation, as_of, usual_days)
values ($1, $2, $3, $4)
on conflict (brand_id) do update
set generation = excluded.generation, as_of = excluded.as_of, usual_days = excluded.usual_days
where trigger_cursor.as_of < excluded.as_of
