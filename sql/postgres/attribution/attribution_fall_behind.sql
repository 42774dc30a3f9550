-- The brand goes on from there: at once where more of its customers were done, up to $4 of those that changed below $3, and
-- else, since each try looks at more, after pauses that grow to an hour. Not one that came to be due ($5: since when it
-- was, null: it was not) anew while it was looked at: its window has changed.
insert into attribution_behind as behind (brand_id, looked_below, round_below, done_to, failures)
values ($1, $2::text::xid8, $3::text::xid8, $4::integer, case when $4 is null then 1 else 0 end)
on conflict (brand_id) do update set
    round_below = excluded.round_below,
    done_to = excluded.done_to,
    (failures, due_at) = (
        select failed, now() + least(interval '1 hour', (2 ^ least(greatest(failed - 1, 0), 10) - 1) * interval '15 seconds')
        from (select case when behind.done_to is distinct from excluded.done_to then 0 else behind.failures + 1 end as failed)
    )
where behind.due_at = $5::text::timestamptz
