-- Orders stay as amounts of nobody.
update store_order
set subject = null, email = null, phone = null, number = null, discount_codes = '{}', checkout_token = null
where brand_id = $1
    and (subject = any($2::integer[]) or (subject is null and created_at <= $5 and (lower(btrim(email)) = any($3::text[]) or phone = any($4::text[]))))
