select
    segment.id, ordinal, segment.version, evaluated_version, error is not null as failed, definition::text, segment.created_by,
    every_minutes, evaluated_at, evaluated_tick, member_count, evaluated_count
from segment
join segment_version
    on segment_version.brand_id = segment.brand_id
    and segment_version.segment_id = segment.id
    and segment_version.version = segment.version
where segment.brand_id = $1 and status = 'active'
order by ordinal
