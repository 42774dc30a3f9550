-- $2: JSON rows, $3: they say when they changed last, $4: the store says so, no file. Of what the store described a file
-- knows better only if it says that it is newer.
-- What a file dates ahead keeps out no word of the store.
insert into product as stored (brand_id, id, title, status, variants, images, updated_at, deleted)
select
    $1, id, title, status, variants, images, updated_at,
    -- By key for each: of "exists" all versions of the brand can be hashed.
    coalesce((
        select removed from store_version
        where brand_id = $1 and kind = 'product' and store_version.external_id = given.id
    ), false)
from json_to_recordset($2::text::json) as given (
    id text, title text, status text, variants jsonb, images jsonb, updated_at timestamptz
)
on conflict (brand_id, id) do update set
    title = excluded.title,
    status = excluded.status,
    variants = excluded.variants,
    images = excluded.images,
    updated_at = coalesce(excluded.updated_at, stored.updated_at),
    deleted = excluded.deleted
where
    case
        when $4::boolean or not exists (
            select from store_version as version
            where version.brand_id = stored.brand_id and version.kind = 'product' and version.external_id = stored.id
        ) then not $3::boolean or coalesce(excluded.updated_at >= stored.updated_at, true) or $4::boolean and stored.updated_at > now()
        else $3::boolean and excluded.updated_at > stored.updated_at
    end
    and (
        stored.title, stored.status, stored.variants, stored.images, stored.deleted, stored.updated_at
    ) is distinct from (
        excluded.title, excluded.status, excluded.variants, excluded.images, excluded.deleted,
        coalesce(excluded.updated_at, stored.updated_at)
    )
