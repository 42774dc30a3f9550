-- Counts a try as failed before anyone looks at the password, so that tries at once count too. From the $2-th on each
-- failure doubles the time until the next try, from a second to a quarter of an hour. wait_s is 0 when this one may go
-- on, else how long to wait. No row: it was refused by another try at the same moment.
with taken as (
    insert into sign_in_attempt as attempt (key, failures, failed_at, blocked_until)
    values ($1, 1, now(), now())
    on conflict (key) do update
    set
        failures = failures_left(attempt.failures, attempt.failed_at) + 1,
        failed_at = now(),
        blocked_until = now() + interval '1 second' * case
            when failures_left(attempt.failures, attempt.failed_at) + 1 < $2::integer then 0
            else least(900, power(2, least(10, failures_left(attempt.failures, attempt.failed_at) + 1 - $2::integer)))
        end
    where attempt.blocked_until <= now()
    returning 0::float8 as wait_s
)

select wait_s from taken
union all
select greatest(0.001, extract(epoch from blocked_until - now())::float8)
from sign_in_attempt
where key = $1 and not exists (select from taken)
