-- what: what events set on a profile, as one JSON object, of profiles that something is set on
-- grain: customer
-- refresh: with the segments
-- by: customer

-- Few profiles have any: a table of their own is small, and in the order in which it is looked up.
select
    customer,
    to_json(
        map_from_entries(
            list_sort(list((name, case kind when 'string' then to_json(value) else value::json end)))
        )
    ) as properties
from stg_customer_attributes
group by customer
order by customer
