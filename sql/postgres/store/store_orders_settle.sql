-- State, billing status and refunded total follow from the platform's word, the refunds and the cancellation, whatever
-- the order in which these came. $2: external ids, $3: the platform's words on payment, $4: checkouts, $5: their tokens and
-- $6: the platform's words on delivery, each null where nothing new is known. An order comes of one checkout for good.
with given as (
    select *
    from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) as given (
        external_id, financial_status, checkout_external_id, checkout_token, fulfillment_status
    )
),

refunded as (
    select order_external_id, sum(total) as total
    from refund
    where brand_id = $1 and order_external_id = any($2::text[]) and not deleted
    group by order_external_id
),

known as (
    select
        placed.external_id,
        placed.total,
        placed.cancelled_at,
        coalesce(given.financial_status, placed.financial_status) as financial_status,
        least(given.checkout_external_id, placed.checkout_external_id) as checkout_external_id,
        least(given.checkout_token, placed.checkout_token) as checkout_token,
        coalesce(given.fulfillment_status, placed.fulfillment_status) as fulfillment_status,
        -- More than any order comes to. So that this, and what is left of an order, still are amounts.
        least(coalesce(refunded.total, 0), 9999999999999.99) as refunds
    from given
    join store_order as placed on placed.brand_id = $1 and placed.external_id = given.external_id
    left join refunded on refunded.order_external_id = given.external_id
    where coalesce(given.financial_status, placed.financial_status) is not null
),

billed as (
    select
        *,
        case
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
        case when billing_status = 'refunded' and refunds = 0 then total else refunds end as refunded_total,
        case
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
    refunded_total = settled.refunded_total
from settled
where
    store_order.brand_id = $1
    and store_order.external_id = settled.external_id
    and (
        store_order.financial_status, store_order.checkout_external_id, store_order.billing_status, store_order.state,
        store_order.refunded_total, store_order.fulfillment_status, store_order.checkout_token
    ) is distinct from (
        settled.financial_status, settled.checkout_external_id, settled.billing_status, settled.state,
        settled.refunded_total, settled.fulfillment_status, settled.checkout_token
    )
