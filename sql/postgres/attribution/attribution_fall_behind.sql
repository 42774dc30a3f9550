-- The brand is tried again from there, at once and then after pauses that grow to an hour: each try looks at more.
insert into attribution_behind as behind (brand_id, looked_below)
values ($1, $2::text::xid8)
on conflict (brand_id) do update set
    failures = behind.failures + 1,
    due_at = now() + least(interval '1 hour', (2 ^ least(behind.failures, 10) - 1) * interval '15 seconds')
