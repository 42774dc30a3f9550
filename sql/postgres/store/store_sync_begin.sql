-- $7: the place where the store refused to go on, from which it begins anew.
insert into store_sync (brand_id, purpose, entity, since, total, started_at, refused_position)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (brand_id, purpose, entity) do update set
    since = excluded.since,
    position = null,
    done = 0,
    total = excluded.total,
    started_at = excluded.started_at,
    finished_at = null,
    refused_position = excluded.refused_position
