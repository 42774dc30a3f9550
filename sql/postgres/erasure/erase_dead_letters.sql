delete from dead_letter
where brand_id = $1 and received_at <= $4 and (email = any($2::text[]) or (email is null and phone = any($3::text[])))
