update short_link set url = null
where (brand_id, conversation_id) in (
        select brand_id, id
        from conversation
        where brand_id = $1
            and (subject = any($2::integer[]) or contact_id = any(array(select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5))))
    )
