-- The row stays as a tombstone: its ids, and when it was made.
update customer
set
    store_customer_id = null, profile_id = null, email = null, phone = null, first_name = null, last_name = null, tags = '{}',
    deleted = true, erased_at = $3
where brand_id = $1 and subject = any($2::integer[]) and erased_at is null
