-- A customer that the store removed stays hidden, also when a late record names it again.
update customer
set deleted = true
where brand_id = $1 and subject = any($2::integer[])
