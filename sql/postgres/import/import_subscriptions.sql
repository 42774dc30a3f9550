-- $2: JSON rows, $3: they say when they changed last, $4: their subjects, $5: the store says so, no file. Of what the store
-- described a file knows better only if it says that it is newer.
-- What a row that does not say when it changed last says counts as of its newest time, or of now, until something is known.
with given as materialized (
    select *
    from rows from (
        json_to_recordset($2::text::json) as (
            external_id text, status text, product_id text, title text, interval_unit text, interval_count integer,
            price numeric(18, 2), currency_code text, started_at timestamptz, next_billing_at timestamptz,
            cancelled_at timestamptz, updated_at timestamptz
        ),
        unnest($4::integer[])
    ) as given (
        external_id, status, product_id, title, interval_unit, interval_count, price, currency_code, started_at,
        next_billing_at, cancelled_at, updated_at, subject
    )
),

dated as (
    select external_id from given where updated_at is not null
)

insert into subscription as stored (
    brand_id, external_id, id, subject, status, product_id, title, interval_unit, interval_count, price, currency_code,
    started_at, next_billing_at, cancelled_at, updated_at
)
select
    $1, external_id, made_id($1, 'subscription', external_id),
    nullif(subject, 0), status, product_id, title, interval_unit, interval_count, price, currency_code, started_at,
    next_billing_at, cancelled_at, coalesce(updated_at, cancelled_at, started_at, now())
from given
on conflict (brand_id, external_id) do update set
    subject = coalesce(excluded.subject, stored.subject),
    status = excluded.status,
    product_id = excluded.product_id,
    title = excluded.title,
    interval_unit = excluded.interval_unit,
    interval_count = excluded.interval_count,
    price = excluded.price,
    currency_code = excluded.currency_code,
    started_at = excluded.started_at,
    next_billing_at = excluded.next_billing_at,
    cancelled_at = excluded.cancelled_at,
    updated_at = case
        when $5::boolean then greatest(stored.updated_at, excluded.updated_at)
        when $3::boolean and excluded.external_id in (select external_id from dated) then excluded.updated_at
        else greatest(stored.updated_at, coalesce(excluded.cancelled_at, excluded.started_at))
    end,
    deleted = false
where
    case
        when $5::boolean then true
        when exists (
            select from store_version as version
            where version.brand_id = stored.brand_id and version.kind = 'subscription' and version.external_id = stored.external_id
        ) then $3::boolean and excluded.external_id in (select external_id from dated) and excluded.updated_at > stored.updated_at
        else not ($3::boolean and excluded.external_id in (select external_id from dated)) or excluded.updated_at >= stored.updated_at
    end
    and (
        (
            stored.subject, stored.status, stored.product_id, stored.title, stored.interval_unit, stored.interval_count,
            stored.price, stored.currency_code, stored.started_at, stored.next_billing_at, stored.cancelled_at, stored.deleted
        ) is distinct from (
            coalesce(excluded.subject, stored.subject), excluded.status, excluded.product_id, excluded.title,
            excluded.interval_unit, excluded.interval_count, excluded.price, excluded.currency_code, excluded.started_at,
            excluded.next_billing_at, excluded.cancelled_at, false
        )
        or $3::boolean and excluded.external_id in (select external_id from dated) and excluded.updated_at > stored.updated_at
    )
