-- A store's word is about the address that it names, also when that address is new.
delete from contact_consent
where brand_id = $1 and contact_id = $2 and channel = $3 and source in ('address changed', 'number changed')
