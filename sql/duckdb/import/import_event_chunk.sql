-- Lines of a record batch without their time of receipt, which the batch decides; absent fields are left out.
-- `first`: where several rows have its id, the number of the first.
select
    n,
    first,
    coalesce(properties, '{}') as properties,
    epoch_ms(occurred_at) as occurred_ms,
    json_merge_patch('{}', json_object(
        'event_id', event_id, 'event_type', event_type, 'profile_id', profile_id, 'anonymous_id', anonymous_id,
        'email', lower(email), 'phone', phone, 'store_customer_id', customer_external_id
    ))::varchar as head
from ready
left join (select n, first from repeated_row where chunk = $1) as repeated using (n)
where chunk = $1
order by n
