-- Segments keep their members without an evaluation, but for who is gone.
update segment
set member_count = run.members
from unnest($2::integer[], $3::bigint[]) as run (ordinal, members)
where segment.brand_id = $1 and segment.ordinal = run.ordinal
