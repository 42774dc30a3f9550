-- The active ones of some segments, which stay so until the transaction ends.
select id from segment
where brand_id = $1 and status = 'active' and id::text = any ($2::text[])
order by id
for key share
