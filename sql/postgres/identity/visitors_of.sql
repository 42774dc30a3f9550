-- The newest visitors of profiles, those of the merged included.
select asked.customer, newest_visitors($1, asked.customer) as visitor_ids
from unnest($2::integer[]) as asked (customer)
