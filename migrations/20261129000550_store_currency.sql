-- migrate:up

-- The shop's currency, which the brand's need not be. Null: the store did not say, and it counts as the brand's.
alter table store_connection add column currency_code text;

update store_connection
set currency_code = newest.currency_code
from (
    select distinct on (store_order.brand_id) store_order.brand_id, store_order.currency_code
    from store_order
    join store_version
        on store_version.brand_id = store_order.brand_id
        and store_version.kind = 'order'
        and store_version.external_id = store_order.external_id
    order by store_order.brand_id, store_order.created_at desc
) as newest
where newest.brand_id = store_connection.brand_id;

-- migrate:down
