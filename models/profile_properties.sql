-- what: what events set on a profile, as one JSON object, of profiles that something is set on
-- grain: customer
-- refresh: with the segments
-- from: stg_customer_attributes
-- by: customer

-- Few profiles have any: a table of their own is small, and in the order in which it is looked up. A list as a window:
-- what list as an aggregate gathers of all profiles has to fit into memory, and anyone can make up profiles.
with gathered as (
    select
        customer,
        list((name, json_value)) over (partition by customer) as named,
        row_number() over (partition by customer) as place
    from stg_customer_attributes
)

select
    customer,
    to_json(map_from_entries(list_sort(named))) as properties
from gathered
where place = 1
order by customer
