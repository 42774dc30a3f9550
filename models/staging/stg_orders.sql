-- what: orders placed up to as_of, without test orders, under the customer that they belong to now
-- grain: order_id
-- refresh: at every read
-- from: orders_source

-- case leaves lists where they are, coalesce copies them with all that they hold.
select
    placed.order_id,
    placed.external_id,
    placed.number,
    coalesce(redirect.customer, placed.subject) as customer,
    placed.state,
    placed.billing_status,
    placed.currency_code,
    placed.subtotal,
    coalesce(placed.discount_total, 0) as discount_total,
    placed.total,
    coalesce(placed.refunded_total, 0) as refunded_total,
    case when placed.discount_codes is not null then placed.discount_codes else [] end as discount_codes,
    least(coalesce(list_sum(list_transform(placed.lines, lambda line: line.quantity)), 0), 2147483647)::integer as item_count,
    placed.created_at,
    placed.updated_at,
    placed.cancelled_at,
    placed.recovered_at,
    case when placed.lines is not null then placed.lines else [] end as lines,
    placed.product_ids
from orders_source as placed
cross join params
left join subject_redirect as redirect using (subject)
where placed.test is not true
    and placed.created_at <= params.as_of
