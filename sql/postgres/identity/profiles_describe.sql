-- What identities add to a profile: channels that it lacked, an earlier first sight, a merge. `updated_at` is the
-- store's word on its own record and moves only along with `created_at` while the store has said nothing.
update customer
set
    email = coalesce(customer.email, given.email),
    phone = coalesce(customer.phone, given.phone),
    provenance = given.provenance,
    created_at = least(customer.created_at, to_timestamp(given.created_ms / 1000)),
    updated_at = case
        when customer.updated_at = customer.created_at then least(customer.created_at, to_timestamp(given.created_ms / 1000))
        else customer.updated_at
    end
from unnest($2::integer[], $3::text[], $4::text[], $5::text[], $6::float8[])
    as given (subject, email, phone, provenance, created_ms)
where customer.brand_id = $1 and customer.subject = given.subject
