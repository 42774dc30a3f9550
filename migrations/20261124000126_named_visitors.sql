-- migrate:up

-- Servers that named visitors by their public ids gave these the identifiers of customers, and customers were joined to
-- them: they are customers. Whom a browser's word joined to one stays so until somebody takes them apart.
update customer
set
    provenance = 'server',
    email = coalesce(customer.email, held.email),
    phone = coalesce(customer.phone, held.phone)
from (
    select
        brand_id,
        subject,
        min(value) filter (where kind = 'email') as email,
        min(value) filter (where kind = 'phone') as phone
    from identifier
    where kind <> 'anonymous_id'
    group by brand_id, subject
) as held
where customer.provenance = 'pixel' and customer.brand_id = held.brand_id and customer.subject = held.subject;
update customer
set provenance = 'server'
from (
    select brand_id, to_subject as subject
    from merge
    where undone_at is null
    union
    select brand_id, from_subject
    from merge
    where undone_at is null
    group by brand_id, from_subject
    having count(*) > 1
) as joined
where customer.provenance = 'pixel' and customer.brand_id = joined.brand_id and customer.subject = joined.subject;

-- Whoever is a visitor still has nothing to claim.
delete from identifier_claim as claim
using customer
where customer.brand_id = claim.brand_id and customer.subject = claim.subject and customer.provenance = 'pixel';

-- migrate:down
