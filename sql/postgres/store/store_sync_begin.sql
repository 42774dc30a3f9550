-- $6: now, by a clock that may be ahead: what changes until then is for the next walk. $7: the same, where it begins anew because the store refused its place.
insert into store_sync (brand_id, purpose, entity, since, total, started_at, began_anew_at)
values ($1, $2, $3, $4, $5, least($6, now()), $7)
on conflict (brand_id, purpose, entity) do update set
    since = excluded.since,
    position = null,
    done = 0,
    total = excluded.total,
    started_at = excluded.started_at,
    finished_at = null,
    began_anew_at = excluded.began_anew_at
