-- Orders as they were at as_of, as far as it is known when something became of them: refunds, cancellations and recoveries
-- that came later are taken back. A payment is as it is now, and so are refunds and cancellations without a time.
with later as (
    select
        refunded.order_external_id as external_id,
        sum(refunded.total) as total
    from refunds as refunded
    cross join params
    where refunded.order_external_id is not null
        and refunded.created_at > params.as_of
    group by refunded.order_external_id
),

undone as (
    select
        placed.* replace (
            case
                when later.total is null then placed.refunded_total
                else greatest(placed.refunded_total - later.total, 0)::decimal(18, 2)
            end as refunded_total,
            case when placed.cancelled_at <= params.as_of then placed.cancelled_at end as cancelled_at,
            case when placed.recovered_at <= params.as_of then placed.recovered_at end as recovered_at
        ),
        later.total is not null as was_refunded_later,
        coalesce(placed.cancelled_at > params.as_of, false) as was_cancelled_later
    from orders_now as placed
    cross join params
    left join later using (external_id)
),

billed as (
    select
        * replace (
            case
                when was_cancelled_later and billing_status = 'voided' then 'pending'
                when not was_refunded_later or billing_status not in ('refunded', 'partially_refunded')
                    then billing_status
                when refunded_total <= 0 then 'paid'
                when refunded_total < total then 'partially_refunded'
                else 'refunded'
            end as billing_status
        )
    from undone
)

select
    * exclude (was_refunded_later, was_cancelled_later) replace (
        case
            when was_refunded_later and state = 'refunded' and billing_status != 'refunded' then 'complete'
            when state != 'cancelled' or not was_cancelled_later then state
            when billing_status = 'refunded' then 'refunded'
            when billing_status in ('paid', 'partially_refunded') then 'complete'
            else 'pending'
        end as state
    )
from billed
