-- It is not removed until the transaction ends.
select id from discount where brand_id = $1 and id = $2 and removed_at is null for key share
