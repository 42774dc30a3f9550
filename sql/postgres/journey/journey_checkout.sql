-- A checkout by our id or the store's.
select
    id, external_id, state, total::text as total, currency_code, created_at, abandoned_at, completed_at
from checkout
where
    brand_id = $1
    and not deleted
    and (
        external_id in ($2, $3)
        or id = case when $2 ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then $2::uuid end
    )
-- An id of ours counts before one that a store chose like it.
order by external_id in ($2, $3), external_id = $2
limit 1
