-- Whom an identifier names: a profile, a contact, both or neither. $2 is a kind of identifier, contact_id or none.
select customer, customer_id, subjects, contact_id, named_contact_id, is_by_id, generation
from in_brand_party_found($1, $2, $3)
