select exists (
    select from contact where brand_id = $1 and (email = any($2::text[]) or phone = any($3::text[]))
) as some
