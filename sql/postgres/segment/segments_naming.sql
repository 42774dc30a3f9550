-- Active segments whose present rule has a text in it, locked for a change.
select segment.id, segment.version, definition::text
from segment
join segment_version
    on segment_version.brand_id = segment.brand_id
    and segment_version.segment_id = segment.id
    and segment_version.version = segment.version
where segment.brand_id = $1
    and status = 'active'
    and segment.created_by <> 'built_in'
    and position($2 in definition::text) > 0
order by segment.id
for update of segment
