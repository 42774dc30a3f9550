-- The profile that an id names, or the one that it was merged into. $3: with its newest visitors.
select customer, customer_id, subjects, contact_id, generation, visitor_ids
from in_brand_customer_found($1, $2, $3)
