-- $3: of the customer with this id, retired or not; null for all.
select id, merged_at, from_id, to_id, customer_id, evidence, undone_at, undone_by
from merge_shown
where
    brand_id = $1
    and not deleted
    and ($3::text is null or $3 in (from_id, to_id, survivor_id))
order by merged_at desc, id desc
limit $2
