-- What could not be read may tell of somebody who is to be forgotten. $2: texts that name them.
update store_delivery
set payload = null, reason = 'erased'
where
    brand_id = $1
    and payload is not null
    and exists (
        select
        from unnest($2::text[]) as name
        where position(convert_to(name, 'UTF8') in payload) > 0
    )
