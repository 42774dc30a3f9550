-- Somebody does the jobs of the service. Whether nobody had for a while; a clock that was set back tells of none. Of several
-- who say so at once one may have begun before another that was first. To the millisecond, as times are that come back.
update worker_watch
set
    seen_at = case when seen_at > now() + interval '1 minute' then now() else greatest(seen_at, now()) end,
    resumed_at = case
        when seen_at < now() - interval '10 minutes' then date_trunc('milliseconds', now())
        when resumed_at <= now() + interval '1 minute' then resumed_at
    end
returning coalesce(resumed_at = date_trunc('milliseconds', now()), false) as is_back
