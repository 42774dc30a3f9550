-- Campaign $2 has another trigger: what happens from $3 on starts it.
update campaign set awaits_since = $3
where brand_id = $1 and id = $2
