-- Nothing that names the segment is saved meanwhile.
select id from segment where brand_id = $1 and id = $2 for update
