-- What a record says without a time it says anew with each version: the newest is enough.
delete from contact_consent
where brand_id = $1 and contact_id = $2 and channel = $3 and state = $4 and source = $5 and at < $6 and address = $7
