-- Never back. $2: generation, $3: as of, $4: the brand's usual days then.
insert into trigger_cursor (brand_id, generation, as_of, usual_days)
values ($1, $2, $3, $4)
on conflict (brand_id) do update
set
    generation = greatest(trigger_cursor.generation, excluded.generation),
    as_of = greatest(trigger_cursor.as_of, excluded.as_of),
    usual_days = case when excluded.as_of >= trigger_cursor.as_of then excluded.usual_days else trigger_cursor.usual_days end
