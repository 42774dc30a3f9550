insert into product as stored (brand_id, id, title, status, variants, images, updated_at)
select $1, id, title, status, variants, images, coalesce(updated_at, now())
from json_to_recordset($2::text::json) as given (
    id text, title text, status text, variants jsonb, images jsonb, updated_at timestamptz
)
on conflict (brand_id, id) do update set
    title = excluded.title,
    status = excluded.status,
    variants = excluded.variants,
    images = excluded.images,
    updated_at = excluded.updated_at,
    deleted = false
where
    (not $3::boolean or excluded.updated_at >= stored.updated_at)
    and (
        stored.title, stored.status, stored.variants, stored.images, stored.deleted,
        case when $3::boolean then stored.updated_at end
    ) is distinct from (
        excluded.title, excluded.status, excluded.variants, excluded.images, false,
        case when $3::boolean then excluded.updated_at end
    )
