-- Runs of customers who bought since, by any of their ordinals, do not wait any longer. $3: now.
update campaign_run
set due_at = least(due_at, $3::timestamptz), updated_at = $3
where
    brand_id = $1
    and subject in (
        select person.subject
        from unnest($2::integer[]) as given (subject)
        cross join lateral subjects_of_person($1, given.subject) as person (subject)
    )
    and state = 'waiting'
    and step in ('check', 'wait')
    and coalesce(bought_at, bought_since($1, subject, source_kind, source_id, coalesce(orders_since, triggered_at))) is not null
