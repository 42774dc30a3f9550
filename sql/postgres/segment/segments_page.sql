-- lake_brand: see segment_by_id.sql.
select
    id, name, description, status, current_version_id, created_by, created_at, updated_at, version, ordinal,
    evaluated_version, member_count, segment.generation, evaluated_at,
    greatest(last_run_at, lake_brand.failed_at) as last_run_at,
    coalesce(evaluating_until > now(), false) as evaluating, first_evaluated_at,
    coalesce(segment.error, lake_brand.error) as error,
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at_exact
from segment
left join lake_brand
    on lake_brand.brand_id = segment.brand_id
    and status = 'active' and failures >= 3 and failed_at >= created_at
where
    segment.brand_id = $1
    and ($2 = 'all' or status = $2)
    and ($3::timestamptz is null or (created_at, id) < ($3::timestamptz, $4::uuid))
order by created_at desc, id desc
limit $5
