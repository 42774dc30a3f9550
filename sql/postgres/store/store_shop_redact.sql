-- Every profile of the brand is to be erased, each by a request of its own, as if it had asked itself.
insert into erasure (brand_id, id, whom, requested_by)
select $1, gen_random_uuid(), jsonb_build_object('profile_id', id), $2
from customer
where brand_id = $1
on conflict (brand_id, whom) where state <> 'done' do nothing
