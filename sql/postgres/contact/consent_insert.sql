insert into contact_consent (brand_id, contact_id, channel, state, source, at)
values ($1, $2, $3, $4, $5, $6)
on conflict do nothing
