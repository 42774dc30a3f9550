-- A brand whose refresh failed three times is set aside: then all of its segments say why, but those made since.
select
    segment.id, name, description, status, current_version_id, segment.created_by, segment.created_at, updated_at,
    segment.version, schema_version, definition::text, ordinal,
    evaluated_version, member_count, segment.generation, evaluated_at,
    greatest(last_run_at, lake_brand.failed_at) as last_run_at,
    coalesce(evaluating_until > now(), false) as evaluating, first_evaluated_at,
    coalesce(segment.error, lake_brand.error) as error
from segment
join segment_version
    on segment_version.brand_id = segment.brand_id
    and segment_version.segment_id = segment.id
    and segment_version.version = segment.version
left join lake_brand
    on lake_brand.brand_id = segment.brand_id
    and status = 'active' and failures >= 3 and failed_at >= segment.created_at
where segment.brand_id = $1 and segment.id = $2
