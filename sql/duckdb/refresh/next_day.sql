-- When the next day of the brand's zone begins, in UTC; no row while nobody ordered.
select
    strftime(
        timezone('UTC', timezone(timezone, (timezone(timezone, timezone('UTC', as_of))::date + 1)::timestamp)),
        '%Y-%m-%dT%H:%M:%S.%fZ'
    ) as begins
from params
where exists (from stg_orders)
