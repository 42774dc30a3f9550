-- The profile that an id names, or the one that it was merged into. $3: with what it goes by.
select customer, customer_id, subjects, contact_id, generation, linked_contact_id, visitor_ids
from in_brand_customer_found($1, $2, $3)
