-- When the next day of the brand's zone begins, in UTC; no row while nobody ordered.
select
    timezone(
        'UTC',
        timezone(timezone, (timezone(timezone, timezone('UTC', as_of))::date + 1)::timestamp)
    ) as moment
from params
where exists (from stg_orders)
