select segment.id, name, status, refers_to, first_evaluated_at, segment.generation
from segment
join segment_version
    on segment_version.brand_id = segment.brand_id
    and segment_version.segment_id = segment.id
    and segment_version.version = segment.version
where segment.brand_id = $1
