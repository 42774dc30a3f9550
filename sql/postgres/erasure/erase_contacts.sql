-- Their consents and discount codes go with them.
delete from contact
where brand_id = $1 and id = any(array(select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5)))
