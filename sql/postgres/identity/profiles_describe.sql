-- What identities add to a profile: channels that it lacked, an earlier first sight. `updated_at` is the store's word on
-- its own record and moves only along with `created_at` while the store has said nothing, when `changed_at` is now.
-- Materialized with the brand in it, so that the whole key is joined, whatever the statistics say.
with given as materialized (
    select $1::uuid as brand_id, subject, profile_id, email, phone, to_timestamp(created_ms / 1000) as created_at
    from unnest($2::integer[], $3::text[], $4::text[], $5::text[], $6::float8[])
        as given (subject, profile_id, email, phone, created_ms)
)

update customer
set
    profile_id = coalesce(customer.profile_id, given.profile_id),
    email = coalesce(customer.email, given.email),
    phone = coalesce(customer.phone, given.phone),
    created_at = least(customer.created_at, given.created_at),
    updated_at = case
        when customer.has_record or customer.updated_at <> customer.created_at then customer.updated_at
        else least(customer.created_at, given.created_at)
    end,
    changed_at = case when not (customer.has_record or customer.updated_at <> customer.created_at) then now() end
from given
where customer.brand_id = given.brand_id and customer.subject = given.subject
