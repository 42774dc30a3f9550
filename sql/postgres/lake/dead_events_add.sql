insert into dead_event (batch_id, line, brand_id, reason, payload)
select * from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::text[], $5::bytea[])
on conflict do nothing
