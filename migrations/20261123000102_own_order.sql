-- migrate:up

-- When somebody first bought after an instant, or what a checkout became: an order that is cancelled or a test is none, and
-- neither is the one that is told of itself, which a store dates after its payment.
create or replace function bought_since(
    brand uuid, subject integer, source_kind text, source_id text, since timestamptz
)
returns timestamptz
language sql stable
begin atomic
    select min(placed.created_at)
    from store_order as placed
    where
        placed.brand_id = brand
        and not placed.deleted
        and not placed.test
        and placed.state <> 'cancelled'
        and (
            (
                placed.created_at > since
                and placed.subject in (select same_customer(brand, array[bought_since.subject]))
                and (source_kind <> 'order' or placed.external_id <> source_id)
            )
            or (source_kind = 'checkout' and placed.checkout_external_id = source_id)
        );
end;

-- migrate:down
