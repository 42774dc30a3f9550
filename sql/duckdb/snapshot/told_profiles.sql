-- What servers' events of the tick set on profiles beside properties: of each the last word, and when it was said.
with told as (
    select
        brand_id,
        subject,
        occurred_at,
        received_at,
        n,
        email,
        phone,
        coalesce(
            case when json_type(properties, '$.first_name') = 'VARCHAR' then nullif(trim(properties ->> '$.first_name'), '') end,
            case when json_type(properties, '$.firstName') = 'VARCHAR' then nullif(trim(properties ->> '$.firstName'), '') end
        ) as first_name,
        coalesce(
            case when json_type(properties, '$.last_name') = 'VARCHAR' then nullif(trim(properties ->> '$.last_name'), '') end,
            case when json_type(properties, '$.lastName') = 'VARCHAR' then nullif(trim(properties ->> '$.lastName'), '') end
        ) as last_name
    from kept
    join subjects using (identity)
    where event_type = 'updateProperties' and not by_browser and subject > 0
)

select
    brand_id,
    subject,
    last(email order by occurred_at, received_at, n) filter (email is not null) as email,
    epoch_ms(max(occurred_at) filter (email is not null))::double as email_at,
    last(phone order by occurred_at, received_at, n) filter (phone is not null) as phone,
    epoch_ms(max(occurred_at) filter (phone is not null))::double as phone_at,
    last(first_name order by occurred_at, received_at, n) filter (first_name is not null) as first_name,
    epoch_ms(max(occurred_at) filter (first_name is not null))::double as first_name_at,
    last(last_name order by occurred_at, received_at, n) filter (last_name is not null) as last_name,
    epoch_ms(max(occurred_at) filter (last_name is not null))::double as last_name_at
from told
where coalesce(email, phone, first_name, last_name) is not null
group by brand_id, subject
order by brand_id, subject
