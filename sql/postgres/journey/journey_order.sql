-- An order by our id or the store's.
select
    id, external_id, coalesce(number, external_id) as number, total::text as total, currency_code, created_at
from store_order
where
    brand_id = $1
    and not deleted
    and not test
    and (
        external_id in ($2, $3)
        or id = case when $2 ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then $2::uuid end
    )
order by external_id in ($2, $3), external_id = $2
limit 1
