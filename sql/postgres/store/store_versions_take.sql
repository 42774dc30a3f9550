-- Notes the versions that are newer than what is known, and says for each whether it was. What is removed stays removed.
with given as materialized (
    select *
    from unnest($2::text[], $3::text[], $4::numeric[], $5::timestamptz[], $6::timestamptz[], $7::text[])
        as given (kind, external_id, revision, updated_at, triggered_at, removed)
),

taken as (
    insert into store_version as stored (brand_id, kind, external_id, revision, updated_at, triggered_at, removed)
    select $1, kind, external_id, revision, updated_at, triggered_at, removed::boolean
    from given
    order by kind, external_id
    on conflict (brand_id, kind, external_id) do update set
        revision = excluded.revision,
        updated_at = excluded.updated_at,
        triggered_at = excluded.triggered_at,
        removed = excluded.removed
    where
        not stored.removed
        and (
            excluded.removed
            or (excluded.revision, excluded.updated_at, excluded.triggered_at)
            > (stored.revision, stored.updated_at, stored.triggered_at)
        )
    returning kind, external_id
)

select kind, external_id from taken
