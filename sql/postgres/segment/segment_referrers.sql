-- Active segments whose current definition names a segment.
select name
from segment
join segment_version
    on segment_version.brand_id = segment.brand_id
    and segment_version.segment_id = segment.id
    and segment_version.version = segment.version
where segment.brand_id = $1 and status = 'active' and $2::uuid = any (refers_to)
order by name
