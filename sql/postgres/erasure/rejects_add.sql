insert into import_rejects (brand_id, path)
values ($1, $2)
on conflict (brand_id, path) do update set created_at = now()
