-- The contacts of a customer ($2) are called by the names that were said of it; what was not said stays.
update contact
set first_name = coalesce($3, first_name), last_name = coalesce($4, last_name), updated_at = now()
where
    brand_id = $1
    and subject = $2
    and (first_name, last_name) is distinct from (coalesce($3, first_name), coalesce($4, last_name))
