-- By the moment of its cut, which the tombstones of its identifiers have, too.
select id from erasure where brand_id = $1 and erased_at = $2
