update data_request set store_customer_id = null, email = null, phone = null
where brand_id = $1
    and requested_at <= $4
    and (email = any($2::text[]) or phone = any($3::text[]) or store_customer_id = any($5::text[]))
