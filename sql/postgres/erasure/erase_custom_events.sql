-- A phone alone names its contact only where no address says that it is somebody else's.
delete from custom_event
where brand_id = $1 and contact_id = any(array(select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5)))
