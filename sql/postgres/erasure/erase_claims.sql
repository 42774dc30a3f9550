delete from identifier_claim
where brand_id = $1 and subject = any($2::integer[])
