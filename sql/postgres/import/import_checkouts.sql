-- $2: JSON rows, $3: they say when they changed last, $4: their subjects, $5: the store says so, no file. Of what the store
-- described a file knows better only if it says that it is newer. What was typed in it (email, phone) the store alone says.
-- Of what the service found out since, a file unsays nothing: that it was left or completed, and how far it has come.
-- What a file dates ahead keeps out no word of the store.
insert into checkout as stored (
    brand_id, external_id, id, subject, state, currency_code, total, item_count, url, created_at, updated_at, abandoned_at,
    completed_at, token, email, phone, deleted, erased
)
select
    $1, external_id, made_id($1, 'checkout', external_id),
    nullif(subject, 0), state, currency_code, total, item_count, url, created_at, updated_at, abandoned_at, completed_at,
    token, email, phone,
    -- By key for each: of "exists" all versions of the brand can be hashed.
    coalesce((
        select removed from store_version
        where brand_id = $1 and kind = 'checkout' and store_version.external_id = given.external_id
    ), false),
    coalesce(erased, false)
from rows from (
    json_to_recordset($2::text::json) as (
        external_id text, state text, currency_code text, total numeric(18, 2), item_count integer, url text,
        created_at timestamptz, updated_at timestamptz, abandoned_at timestamptz, completed_at timestamptz,
        token text, email text, phone text, erased boolean
    ),
    unnest($4::integer[])
) as given (
    external_id, state, currency_code, total, item_count, url, created_at, updated_at, abandoned_at, completed_at, token,
    email, phone, erased, subject
)
on conflict (brand_id, external_id) do update set
    subject = coalesce(excluded.subject, stored.subject),
    state = case
        when
            not $5::boolean
            and array_position(array['open', 'abandoned', 'completed', 'recovered'], excluded.state)
            < array_position(array['open', 'abandoned', 'completed', 'recovered'], stored.state)
            then stored.state
        else excluded.state
    end,
    currency_code = excluded.currency_code,
    total = excluded.total,
    item_count = excluded.item_count,
    url = excluded.url,
    created_at = excluded.created_at,
    updated_at = case when $3::boolean then excluded.updated_at else greatest(stored.updated_at, excluded.updated_at) end,
    abandoned_at = coalesce(excluded.abandoned_at, case when not $5::boolean then stored.abandoned_at end),
    completed_at = coalesce(excluded.completed_at, case when not $5::boolean then stored.completed_at end),
    token = coalesce(excluded.token, stored.token),
    email = case when $5::boolean then excluded.email else stored.email end,
    phone = case when $5::boolean then excluded.phone else stored.phone end,
    deleted = excluded.deleted,
    erased = stored.erased or excluded.erased
where
    case
        when $5::boolean or not exists (
            select from store_version as version
            where version.brand_id = stored.brand_id and version.kind = 'checkout' and version.external_id = stored.external_id
        ) then not $3::boolean or excluded.updated_at >= stored.updated_at or $5::boolean and stored.updated_at > now()
        else $3::boolean and excluded.updated_at > stored.updated_at
    end
    and (
        stored.subject, stored.state, stored.currency_code, stored.total, stored.item_count, stored.url, stored.created_at,
        stored.abandoned_at, stored.completed_at, stored.token, stored.deleted, stored.erased,
        case when $3::boolean then stored.updated_at end, case when $5::boolean then (stored.email, stored.phone) end
    ) is distinct from (
        coalesce(excluded.subject, stored.subject),
        case
            when
                not $5::boolean
                and array_position(array['open', 'abandoned', 'completed', 'recovered'], excluded.state)
                < array_position(array['open', 'abandoned', 'completed', 'recovered'], stored.state)
                then stored.state
            else excluded.state
        end,
        excluded.currency_code, excluded.total, excluded.item_count, excluded.url, excluded.created_at,
        coalesce(excluded.abandoned_at, case when not $5::boolean then stored.abandoned_at end),
        coalesce(excluded.completed_at, case when not $5::boolean then stored.completed_at end),
        coalesce(excluded.token, stored.token), excluded.deleted, stored.erased or excluded.erased,
        case when $3::boolean then excluded.updated_at end, case when $5::boolean then (excluded.email, excluded.phone) end
    )
