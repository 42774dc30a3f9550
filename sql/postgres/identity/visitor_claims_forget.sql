-- The oldest ones, of whatever brand: older than $1 days, at most $2.
delete from visitor_claim
where
    (brand_id, kind, value, subject) in (
        select brand_id, kind, value, subject
        from visitor_claim
        where claimed_at < now() - make_interval(days => $1)
        order by claimed_at
        limit $2
    )
