-- Ids are UUIDs of version 7: the newest discounts have the greatest ones.
select
    id, name, type, value::text as value, code, prefix, minimum_type, minimum_value::text as minimum_value, duration_days,
    created_at
from discount
where brand_id = $1 and removed_at is null and ($2::uuid is null or id < $2::uuid)
order by id desc
limit $3
