-- Orders of nobody that changed in [$1, $2) stay with the conversation that they have: their customer was erased. Those that
-- followed it then count while they are complete.
with settled as (
    update attribution as held
    set
        recovered = held.follows and placed.state = 'complete' and not placed.test and not placed.deleted,
        amount = placed.total - placed.refunded_total, updated_at = now()
    from store_order as placed
    where
        placed.xid >= $1::text::xid8
        and placed.xid < $2::text::xid8
        and placed.subject is null
        and held.brand_id = placed.brand_id
        and held.order_id = placed.id
        and (held.recovered, held.amount)
        is distinct from (
            held.follows and placed.state = 'complete' and not placed.test and not placed.deleted,
            placed.total - placed.refunded_total
        )
    returning held.brand_id, held.order_id, held.recovered, held.ordered_at
)

update store_order as placed
set recovered_at = case when settled.recovered then settled.ordered_at end
from settled
where placed.brand_id = settled.brand_id and placed.id = settled.order_id
