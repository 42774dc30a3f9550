-- $3: also one that was removed.
select
    id, name, type, value::text as value, code, prefix, minimum_type, minimum_value::text as minimum_value, duration_days,
    created_at
from discount
where brand_id = $1 and id = $2 and (removed_at is null or $3)
