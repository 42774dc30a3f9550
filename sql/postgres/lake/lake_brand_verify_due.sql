-- Not in the night in which something failed: where the check itself takes too long, each refresh would end with it.
select
    (
        full_at < now() - interval '30 hours'
        or full_at < now() - interval '18 hours'
        and extract(hour from now() at time zone timezone) between 1 and 4
    )
    and coalesce(failed_at, '-infinity') < now() - interval '6 hours' as due
from lake_brand
join brand on brand.id = brand_id
where brand_id = $1
