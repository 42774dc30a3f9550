-- migrate:up

-- Of connections made before: that of some order the store described, by key. Without holding up who reads connections.
update store_connection
set currency_code = (
    select store_order.currency_code
    from store_version
    join store_order
        on store_order.brand_id = store_version.brand_id and store_order.external_id = store_version.external_id
    where store_version.brand_id = store_connection.brand_id and store_version.kind = 'order' and not store_version.removed
    order by store_version.external_id
    limit 1
)
where currency_code is null;

-- migrate:down
