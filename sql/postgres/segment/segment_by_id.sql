select
    segment.id, name, description, status, current_version_id, segment.created_by, segment.created_at, updated_at,
    segment.version, schema_version, definition, ordinal,
    evaluated_version, member_count, generation, evaluated_at, last_run_at,
    coalesce(evaluating_until > now(), false) as evaluating, first_evaluated_at, error
from segment
join segment_version
    on segment_version.brand_id = segment.brand_id
    and segment_version.segment_id = segment.id
    and segment_version.version = segment.version
where segment.brand_id = $1 and segment.id = $2
