-- After the clock of Postgres was ahead and was set back: what the scheduler noted to have happened, or to be due, later than
-- any of its jobs is delayed is now. Until then a queue would refuse all other jobs for one that waits, none would be sent by
-- the clock, and those of dead workers would stay theirs. An end in a minute to come would refuse that minute's job.
with waiting as (
    update pgboss.job
    set start_after = now(), keep_until = now() + (keep_until - start_after)
    where state < 'active' and start_after > now() + interval '2 minutes'
    returning name
),

running as (
    update pgboss.job
    set started_on = least(started_on, now()), heartbeat_on = least(heartbeat_on, now())
    where state = 'active' and (started_on > now() + interval '2 minutes' or heartbeat_on > now() + interval '2 minutes')
    returning name
),

sent as (
    update pgboss.job
    set singleton_on = null
    where
        name = '__pgboss__send-it'
        and state > 'active'
        and state <> 'cancelled'
        and singleton_on > now() at time zone 'UTC' + interval '2 minutes'
    returning name
),

looked_after as (
    update pgboss.queue
    set
        monitor_claim_on = least(monitor_claim_on, now()),
        monitor_on = least(monitor_on, now()),
        maintain_on = least(maintain_on, now())
    where greatest(monitor_claim_on, monitor_on, maintain_on) > now() + interval '2 minutes'
    returning name
),

looked as (
    update pgboss.version
    set
        cron_on = least(cron_on, now()),
        bam_on = least(bam_on, now()),
        flow_on = least(flow_on, now()),
        reindex_on = least(reindex_on, now())
    where greatest(cron_on, bam_on, flow_on, reindex_on) > now() + interval '2 minutes'
    returning 'all' as name
)

select distinct name
from (
    select name from waiting
    union all
    select name from running
    union all
    select name from sent
    union all
    select name from looked_after
    union all
    select name from looked
) as names
order by name
