-- Orders stay as amounts of nobody; what else names anybody goes with the mark (keep_order_erased).
update store_order
set subject = null, erased = true
where brand_id = $1
    and (subject = any($2::integer[]) or (subject is null and created_at <= $5 and (lower(btrim(email)) = any($3::text[]) or phone = any($4::text[]))))
