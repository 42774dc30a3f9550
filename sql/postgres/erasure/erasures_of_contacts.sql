-- The contacts that belong to no profile, such as one whose event the lake refused.
insert into erasure (brand_id, id, whom, requested_by, requested_at, due_at)
select
    $1, gen_random_uuid(), jsonb_strip_nulls(jsonb_build_object('email', contact.email, 'phone', contact.phone)),
    requested_by, requested_at, due_at
from contact
join erasure on erasure.brand_id = $1 and erasure.id = $2
where contact.brand_id = $1 and contact.subject is null
on conflict (brand_id, whom) where state <> 'done' do nothing
