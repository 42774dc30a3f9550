-- A slice of the profiles behind a subject, each asked for by a request of its own in the words of the one for everybody.
with slice as (
    select subject, id
    from customer
    where brand_id = $1 and subject > $3 and erased_at is null
    order by subject
    limit $4
),

asked as (
    insert into erasure (brand_id, id, whom, requested_by, requested_at, due_at)
    select $1, gen_random_uuid(), jsonb_build_object('profile_id', slice.id), requested_by, requested_at, due_at
    from slice
    join erasure on brand_id = $1 and erasure.id = $2
    on conflict (brand_id, whom) where state <> 'done' do nothing
)

select max(subject) as last from slice
