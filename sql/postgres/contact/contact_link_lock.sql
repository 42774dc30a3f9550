-- The customer whose email ($3) or phone ($4) it is, as the server, the store or a webhook said, where nobody is known to have
-- the contact. `locked`: nobody else gives them a contact now. Not waited for, since the channels are locked already and
-- others begin with the customer.
select holder.subject, pg_try_advisory_xact_lock(hashtextextended($1::uuid::text || ' subject ' || holder.subject, 0)) as locked
from contact
cross join lateral (select coalesce(meant_by($1, 'email', $3), meant_by($1, 'phone', $4)) as subject) as holder
where contact.brand_id = $1 and contact.id = $2 and contact.subject is null and holder.subject is not null
