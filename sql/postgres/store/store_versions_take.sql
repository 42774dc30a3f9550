-- Notes the versions that are newer than what is known, and returns these. What is removed stays removed; its versions
-- still are told apart, for what outlives it.
insert into store_version as stored (brand_id, kind, external_id, revision, updated_at, triggered_at, removed)
select
    $1, kind, external_id, revision,
    case when removed::boolean then '-infinity' else updated_at end,
    case when removed::boolean then '-infinity' else triggered_at end,
    removed::boolean
from
    unnest($2::text[], $3::text[], $4::numeric[], $5::timestamptz[], $6::timestamptz[], $7::text[])
        as given (kind, external_id, revision, updated_at, triggered_at, removed)
order by kind, external_id
on conflict (brand_id, kind, external_id) do update set
    revision = greatest(stored.revision, excluded.revision),
    updated_at = case when excluded.removed then stored.updated_at else excluded.updated_at end,
    triggered_at = case when excluded.removed then stored.triggered_at else excluded.triggered_at end,
    removed = stored.removed or excluded.removed
where
    (excluded.removed and not stored.removed)
    or (
        not excluded.removed
        and (excluded.revision, excluded.updated_at, excluded.triggered_at)
        > (stored.revision, stored.updated_at, stored.triggered_at)
    )
returning kind, external_id, removed
