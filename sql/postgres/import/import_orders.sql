-- Orders of one chunk ($2: JSON rows, $3: their lines, one JSON array a line of text, $4: their subjects; $5: the rows
-- say when they changed last; $6: the store says so, no file). Returns what changed. What attribution and other sources know
-- stays where the rows say nothing; of an order that the store described (it has a `financial_status`) a file knows better
-- only if it says that it is newer, and one that dates it ahead, as where it names no zone, keeps out no word of the store.
-- Lines come apart because JSON inside JSON is parsed three times.
insert into store_order as stored (
    brand_id, external_id, id, number, subject, email, phone, state, billing_status, currency_code, subtotal, discount_total,
    total, refunded_total, discount_codes, lines, test, created_at, updated_at, cancelled_at, recovered_at, deleted, erased
)
select
    $1, external_id,
    made_id($1, 'order', external_id),
    number, nullif(subject, 0), email, phone, state, billing_status, currency_code, subtotal, discount_total, total,
    refunded_total, discount_codes, lines::jsonb, test, created_at, updated_at, cancelled_at, recovered_at,
    -- By key for each: of "exists" all versions of the brand can be hashed.
    coalesce((
        select removed from store_version
        where brand_id = $1 and kind = 'order' and store_version.external_id = given.external_id
    ), false),
    coalesce(erased, false)
from rows from (
    json_to_recordset($2::text::json) as (
        external_id text, number text, email text, phone text, state text, billing_status text, currency_code text,
        subtotal numeric(18, 2), discount_total numeric(18, 2), total numeric(18, 2), refunded_total numeric(18, 2),
        discount_codes text[], test boolean, created_at timestamptz, updated_at timestamptz,
        cancelled_at timestamptz, recovered_at timestamptz, erased boolean
    ),
    string_to_table($3::text, chr(10)),
    unnest($4::integer[])
) as given (
    external_id, number, email, phone, state, billing_status, currency_code, subtotal, discount_total, total, refunded_total,
    discount_codes, test, created_at, updated_at, cancelled_at, recovered_at, erased, lines, subject
)
on conflict (brand_id, external_id) do update set
    number = excluded.number,
    subject = coalesce(excluded.subject, stored.subject),
    email = coalesce(excluded.email, stored.email),
    phone = coalesce(excluded.phone, stored.phone),
    state = excluded.state,
    billing_status = excluded.billing_status,
    currency_code = excluded.currency_code,
    subtotal = excluded.subtotal,
    discount_total = excluded.discount_total,
    total = excluded.total,
    refunded_total = excluded.refunded_total,
    imported_refunded_total = case when not $6::boolean then excluded.refunded_total end,
    -- Later refunds of the store add to what a newer file says, not to the store's older word.
    financial_status = case
        when $6::boolean or stored.financial_status is null then stored.financial_status
        when excluded.state = 'cancelled' then 'voided'
        else excluded.billing_status
    end,
    discount_codes = excluded.discount_codes,
    lines = excluded.lines,
    test = excluded.test,
    created_at = excluded.created_at,
    updated_at = case when $5::boolean then excluded.updated_at else greatest(stored.updated_at, excluded.updated_at) end,
    cancelled_at = excluded.cancelled_at,
    recovered_at = coalesce(excluded.recovered_at, stored.recovered_at),
    deleted = excluded.deleted,
    erased = stored.erased or excluded.erased
where
    case
        when $6::boolean or stored.financial_status is null
            then not $5::boolean or excluded.updated_at >= stored.updated_at or $6::boolean and stored.updated_at > now()
        else $5::boolean and excluded.updated_at > stored.updated_at
    end
    and (
        stored.number, stored.subject, stored.email, stored.phone, stored.state, stored.billing_status, stored.currency_code,
        stored.subtotal, stored.discount_total, stored.total, stored.refunded_total, stored.discount_codes, stored.lines,
        stored.test, stored.created_at, stored.cancelled_at, stored.recovered_at, stored.deleted, stored.erased,
        case when $5::boolean then stored.updated_at end
    ) is distinct from (
        excluded.number, coalesce(excluded.subject, stored.subject), coalesce(excluded.email, stored.email),
        coalesce(excluded.phone, stored.phone), excluded.state, excluded.billing_status, excluded.currency_code,
        excluded.subtotal, excluded.discount_total, excluded.total, excluded.refunded_total, excluded.discount_codes,
        excluded.lines, excluded.test, excluded.created_at, excluded.cancelled_at,
        coalesce(excluded.recovered_at, stored.recovered_at), excluded.deleted, stored.erased or excluded.erased,
        case when $5::boolean then excluded.updated_at end
    )
returning
    external_id,
    -- By key for each, as above.
    coalesce((
        select true from refund
        where refund.brand_id = stored.brand_id and refund.order_external_id = stored.external_id
        limit 1
    ), false) as has_refunds
