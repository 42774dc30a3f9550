-- Somebody does the jobs of the service. Whether nobody had for a while; a clock that was set back tells of none.
update worker_watch
set
    seen_at = now(),
    resumed_at = case
        when seen_at < now() - interval '10 minutes' then now()
        when resumed_at <= now() then resumed_at
    end
returning coalesce(resumed_at = now(), false) as is_back
