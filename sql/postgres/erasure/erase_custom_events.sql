-- A phone alone names its contact only where no address says that it is somebody else's.
delete from custom_event
where brand_id = $1
    and contact_id in (
        select id
        from contact
        where brand_id = $1
            and (
                subject = any($2::integer[])
                or (subject is null and created_at <= $5 and (email = any($3::text[]) or (email is null and phone = any($4::text[]))))
            )
    )
