-- The orders in the order of their making; min_by takes the first row of an order that says something.
create table ready as
with placed as (
    -- An email or phone that is none would name nobody.
    select
        picked.* replace (email.address as email, phone.number as phone),
        n + case when getvariable('undated_last') and updated_at is null then 1::bigint << 60 else 0 end as place
    from picked
    left join email on email.given = picked.email
    left join phone on phone.given = picked.phone
    where n not in (select n from fault)
),

head as (
    select
        external_id,
        min(created_at) as created_at,
        max(updated_at) as updated_at,
        min_by(number, place) as number,
        min_by(state, place) as state,
        min_by(billing_status, place) as billing_status,
        min_by(currency_code, place) as currency_code,
        min_by(subtotal, place) as subtotal,
        min_by(discount_total, place) as discount_total,
        min_by(total, place) as total,
        min_by(refunded_total, place) as refunded_total,
        min_by(discount_codes, place) as discount_codes,
        min_by(test, place) as test,
        min_by(cancelled_at, place) as cancelled_at,
        min_by(recovered_at, place) as recovered_at,
        min_by(customer_external_id, place) as customer_external_id,
        min_by(email, place) as email,
        min_by(phone, place) as phone
    from placed
    group by external_id
),

summed as (
    select
        head.* replace (
            -- Lines with totals of their own may have their discounts in them.
            coalesce(head.total, case
                when is_totalled or coalesce(discount_total, 0) = 0 then line_sum.total
                else greatest(line_sum.total - discount_total, 0)
            end) as total,
            coalesce(subtotal, case when is_priced then line_sum.total end) as subtotal
        ),
        coalesce(line_sum.lines, 0) as line_count,
        coalesce(line_sum.bytes, 0) + coalesce(strlen(number), 0) + coalesce(strlen(discount_codes::varchar), 0) as bytes,
        coalesce(refunded_total, 0) as refunded
    from head
    left join line_sum using (external_id)
),

stated as (
    select
        *,
        refunded > 0 and refunded >= total as is_refunded,
        coalesce(state, case
            when cancelled_at is not null then 'cancelled'
            when billing_status = 'pending' then 'pending'
            when billing_status = 'voided' then 'cancelled'
            when billing_status = 'refunded' or is_refunded then 'refunded'
            else 'complete'
        end) as final_state,
        coalesce(billing_status, case
            when is_refunded or final_state = 'refunded' then 'refunded'
            when final_state = 'pending' then 'pending'
            when final_state = 'cancelled' then 'voided'
            when refunded > 0 then 'partially_refunded'
            else 'paid'
        end) as final_billing_status
    from summed
)

select
    stated.* exclude (refunded, is_refunded, final_state, final_billing_status) replace (
        final_state as state,
        final_billing_status as billing_status,
        coalesce(refunded_total, case when final_billing_status = 'refunded' then total else 0 end) as refunded_total
    ),
    -- Orders of a transaction, or ten times as many lines, so that none lasts.
    floor(sum(1 / getvariable('chunk_size') + line_count / (10 * getvariable('chunk_size')) + bytes / getvariable('chunk_bytes')) over in_order - 1e-9)::integer as chunk,
    row_number() over in_order as position
from stated
window in_order as (order by created_at, external_id rows unbounded preceding);

-- Sorted, so that a chunk finds its lines without reading all of them.
create table ready_line as
select ready.position, row_number() over (partition by ready.position order by n, pos) as place, line.* exclude (n, pos, external_id, is_totalled)
from line
join ready using (external_id)
order by ready.position, place;
