-- is_behind: archived since the last refresh, or up to an hour earlier, as it read the segments before it was published; and
-- what that saw of customers, the segment did not, which failed or waited then.
select
    ordinal,
    member_count,
    coalesce(updated_at > refreshed_at - interval '1 hour' and evaluated_tick < refreshed_tick, false) as is_behind
from segment
join lake_brand on lake_brand.brand_id = segment.brand_id
where segment.brand_id = $1 and status = 'archived' and evaluated_at is not null
