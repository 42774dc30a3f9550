-- Of whatever brand: those that came last more than $1 days ago, at most $2.
delete from dead_letter
where
    (brand_id, id) in (
        select brand_id, id
        from dead_letter
        where failed_at < now() - make_interval(days => $1)
        order by failed_at
        limit $2
    )
