-- Runs that wait for customers ($2, any of their ordinals) of whose order a server told: when it was ($3), and what its own
-- runs began at ($4).
with told as (
    select run.id, min(given.ordered_at) as ordered_at
    from unnest($2::integer[], $3::timestamptz[], $4::text[]) as given (subject, ordered_at, occurrence)
    cross join lateral subjects_of_person($1, given.subject) as person (subject)
    join campaign_run as run on run.brand_id = $1 and run.subject = person.subject
    where
        run.state = 'waiting'
        and coalesce(run.orders_since, run.triggered_at) < given.ordered_at
        and run.occurrence <> given.occurrence
    group by run.id
)

update campaign_run
set bought_at = least(bought_at, told.ordered_at)
from told
where brand_id = $1 and campaign_run.id = told.id
