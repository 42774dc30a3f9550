-- No campaign that offers it is saved meanwhile.
select id from discount where brand_id = $1 and id = $2 and removed_at is null for update
