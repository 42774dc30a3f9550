-- When the next day of the brand's zone begins, in UTC; no row while nobody ordered. A day may have two midnights, of which
-- timezone takes the second one, or the hour before it may be left out.
select
    least(
        timezone('UTC', timezone(timezone, midnight)),
        timezone('UTC', timezone(timezone, midnight - interval 1 microsecond)) + interval 1 microsecond
    ) as moment
from (
    select
        timezone,
        (timezone(timezone, timezone('UTC', as_of))::date + 1)::timestamp as midnight
    from params
)
where exists (from stg_orders)
