update run_step set error = null, event_id = null
where (error is not null or event_id is not null)
    and (brand_id, run_id) in (
        select brand_id, id
        from campaign_run
        where brand_id = $1
            and (subject = any($2::integer[]) or contact_id = any(array(select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5))))
    )
