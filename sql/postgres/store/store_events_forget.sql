-- The oldest ones, of whatever brand: older than $1 days, at most $2. Of those of which there is one per version of a record;
-- events about an order, of which there is one each, stay noted. By place: joined by key, all that is noted would be read.
delete from store_event
where
    ctid = any(array(
        select ctid
        from store_event
        where
            split_part(id, ':', 1) in ('cart_updated', 'customer_updated', 'consent_updated', 'fulfillment_updated')
            and created_at < now() - make_interval(days => $1)
        order by created_at
        limit $2
    ))
