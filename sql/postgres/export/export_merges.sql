select
    brand_id, id as merge_id, merged_at at time zone 'UTC' as merged_at, from_subject, to_subject,
    evidence ->> 'kind' as evidence_kind, evidence ->> 'source' as source, undone_at at time zone 'UTC' as undone_at, undone_by,
    deleted
from merge
where xid >= $1::text::xid8 and xid < $2::text::xid8
