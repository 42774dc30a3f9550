-- Never back. $2: generation, $3: as of.
insert into trigger_cursor (brand_id, generation, as_of)
values ($1, $2, $3)
on conflict (brand_id) do update
set generation = excluded.generation, as_of = excluded.as_of
where trigger_cursor.as_of < excluded.as_of
