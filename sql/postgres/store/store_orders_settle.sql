-- State, billing status and refunded total follow from the platform's word, the refunds and the cancellation, whatever
-- the order in which these came. $2: external ids, $3: the platform's words on payment, $4: checkouts, $5: their tokens,
-- $6: the platform's words on delivery and $7: when it wrote its words, each null where nothing new is known. An order comes
-- of one checkout for good.
with given as (
    select *
    from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[]) as given (
        external_id, financial_status, checkout_external_id, checkout_token, fulfillment_status, written_at
    )
),

-- An imported order becomes one of the store's with the first money that the store tells was given back.
described as (
    select
        placed.*,
        refunded.told,
        refunded.told_since,
        given.checkout_external_id as given_checkout_external_id,
        given.checkout_token as given_checkout_token,
        given.fulfillment_status as given_fulfillment_status,
        case
            when word.financial_status is not null then word.financial_status
            when placed.financial_status is not null then placed.financial_status
            when refunded.told > 0 and placed.state = 'cancelled' then 'voided'
            when refunded.told > 0 then placed.billing_status
        end as described_as,
        case
            when word.financial_status is not null then null
            when placed.financial_status is null then placed.refunded_total
            else placed.imported_refunded_total
        end as imported
    from given
    -- By key for each: of a brand that Postgres did not look at yet all orders would be read.
    cross join lateral (
        select * from store_order where brand_id = $1 and store_order.external_id = given.external_id offset 0
    ) as placed
    -- A file that was written later knows better.
    cross join lateral (
        select case when placed.updated_at > given.written_at then null else given.financial_status end as financial_status
    ) as word
    -- What the store told of in the order's currency; an imported refund is in the refunded_total of the order's file.
    cross join lateral (
        select
            coalesce(sum(total), 0) as told,
            coalesce(sum(total) filter (where created_at > placed.updated_at), 0) as told_since
        from refund
        where
            brand_id = placed.brand_id
            and order_external_id = placed.external_id
            and currency_code = placed.currency_code
            and not deleted
            -- By key as well: of "exists" all versions of the brand can be hashed.
            and (
                select true from store_version
                where brand_id = placed.brand_id and kind = 'refund' and store_version.external_id = refund.external_id
            )
    ) as refunded
),

known as (
    select
        external_id,
        total,
        cancelled_at,
        state as known_state,
        billing_status as known_billing_status,
        refunded_total as known_refunded_total,
        -- What the store says nothing of stays as its file has it.
        case when described_as is null then imported_refunded_total else imported end as imported,
        described_as as financial_status,
        least(given_checkout_external_id, checkout_external_id) as checkout_external_id,
        least(given_checkout_token, checkout_token) as checkout_token,
        coalesce(given_fulfillment_status, fulfillment_status) as fulfillment_status,
        -- More than any order comes to. So that this, and what is left of an order, still are amounts.
        least(
            case
                when imported is null then told
                when updated_at > created_at then imported + told_since
                -- The file did not say when it was written: any of the store's refunds can be in it.
                else greatest(imported, told)
            end,
            9999999999999.99
        ) as refunds
    from described
),

billed as (
    select
        *,
        case
            when financial_status is null then known_billing_status
            when financial_status = 'refunded' or (refunds > 0 and refunds >= total) then 'refunded'
            when financial_status in ('voided', 'expired') then 'voided'
            when financial_status = 'partially_refunded' or refunds > 0 then 'partially_refunded'
            when financial_status = 'paid' then 'paid'
            else 'pending'
        end as billing_status
    from known
),

settled as (
    select
        *,
        case
            when financial_status is null then known_refunded_total
            when billing_status = 'refunded' and refunds = 0 then total
            else refunds
        end as refunded_total,
        case
            when financial_status is null then known_state
            when cancelled_at is not null or billing_status = 'voided' then 'cancelled'
            when billing_status = 'refunded' then 'refunded'
            when billing_status = 'pending' then 'pending'
            else 'complete'
        end as state
    from billed
)

update store_order
set
    financial_status = settled.financial_status,
    checkout_external_id = settled.checkout_external_id,
    checkout_token = settled.checkout_token,
    fulfillment_status = settled.fulfillment_status,
    billing_status = settled.billing_status,
    state = settled.state,
    refunded_total = settled.refunded_total,
    imported_refunded_total = settled.imported
from settled
where
    store_order.brand_id = $1
    and store_order.external_id = settled.external_id
    and (
        store_order.financial_status, store_order.checkout_external_id, store_order.billing_status, store_order.state,
        store_order.refunded_total, store_order.imported_refunded_total, store_order.fulfillment_status,
        store_order.checkout_token
    ) is distinct from (
        settled.financial_status, settled.checkout_external_id, settled.billing_status, settled.state,
        settled.refunded_total, settled.imported, settled.fulfillment_status, settled.checkout_token
    )
