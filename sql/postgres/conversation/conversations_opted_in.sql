-- What a contact ($2) refused on a channel ($3) at these instants ($4) is taken back.
update conversation set opted_out_at = null, updated_at = now()
where brand_id = $1 and contact_id = $2 and channel = $3 and opted_out_at = any($4::timestamptz[])
