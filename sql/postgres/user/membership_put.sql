insert into membership (brand_id, user_id, role)
values ($1, $2, $3)
on conflict (brand_id, user_id) do update set role = excluded.role
