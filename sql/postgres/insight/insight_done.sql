insert into insight_state (brand_id, computed_at)
values ($1, $2)
on conflict (brand_id) do update set computed_at = excluded.computed_at
