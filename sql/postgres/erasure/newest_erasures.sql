-- Of these brands, those that erased somebody, and when they last did.
select brand_id, newest.erased_at
from unnest($1::uuid[]) as given (brand_id)
cross join lateral (select max(erased_at) as erased_at from tombstone where tombstone.brand_id = given.brand_id) as newest
where newest.erased_at is not null
