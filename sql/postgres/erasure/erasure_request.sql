-- Asking again before anything was erased is the same request, and has it tried at once.
insert into erasure (brand_id, id, whom, requested_by)
values ($1, $2, $3::text::jsonb, $4)
on conflict (brand_id, whom) where state <> 'done' do update set tried_at = null
returning id
