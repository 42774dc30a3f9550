-- $2: JSON rows, $3: subjects of those that name no order. The file's word replaces the one before; where it names no order
-- the one that is known stays. What a connected store said of a refund stays, too: its rows do not say when they were written.
insert into refund as stored (brand_id, external_id, id, order_external_id, subject, currency_code, total, created_at)
select
    $1, external_id, made_id($1, 'refund', external_id),
    order_external_id, nullif(subject, 0), currency_code, total, created_at
from rows from (
    json_to_recordset($2::text::json) as (
        external_id text, order_external_id text, currency_code text, total numeric(18, 2), created_at timestamptz
    ),
    unnest($3::integer[])
) as given (external_id, order_external_id, currency_code, total, created_at, subject)
on conflict (brand_id, external_id) do update set
    order_external_id = coalesce(excluded.order_external_id, stored.order_external_id),
    subject = coalesce(excluded.subject, stored.subject),
    currency_code = excluded.currency_code,
    total = excluded.total,
    created_at = excluded.created_at,
    deleted = false
where
    (stored.order_external_id, stored.subject, stored.currency_code, stored.total, stored.created_at, stored.deleted)
    is distinct from (
        coalesce(excluded.order_external_id, stored.order_external_id), coalesce(excluded.subject, stored.subject),
        excluded.currency_code, excluded.total, excluded.created_at, false
    )
    and not exists (
        select
        from store_version
        where store_version.brand_id = $1 and store_version.kind = 'refund' and store_version.external_id = stored.external_id
    )
