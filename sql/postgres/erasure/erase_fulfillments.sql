update fulfillment set tracking_numbers = '{}', tracking_urls = '{}'
where brand_id = $1
    and (tracking_numbers <> '{}' or tracking_urls <> '{}')
    and order_external_id in (
        select external_id
        from store_order
        where brand_id = $1
            and (subject = any($2::integer[]) or (subject is null and created_at <= $5 and (lower(btrim(email)) = any($3::text[]) or phone = any($4::text[]))))
    )
