update conversation
set contact_id = null, subject = null, status = 'closed', updated_at = now()
where brand_id = $1
    and (subject = any($2::integer[]) or contact_id = any(array(select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5))))
