-- Lines of a record batch without their time of receipt, which the batch decides; absent fields are left out.
-- `repeated`: the id that other rows have, too.
select
    n,
    case when event_id in (select event_id from repeated_id) then event_id end as repeated,
    coalesce(properties, '{}') as properties,
    epoch_ms(occurred_at) as occurred_ms,
    json_merge_patch('{}', json_object(
        'event_id', event_id, 'event_type', event_type, 'profile_id', profile_id, 'anonymous_id', anonymous_id,
        'email', lower(email), 'phone', phone, 'store_customer_id', customer_external_id
    ))::varchar as head
from ready
where chunk = $1
order by n
