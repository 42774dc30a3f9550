-- migrate:up

-- A Σ at the end of a word is ς in lower case: names that say the same in any case are one. Those that were two are told
-- apart by the id of the later segment.
update segment as later
set name = left(name, 189) || ' (' || right(id::text, 8) || ')'
where
    status = 'active'
    and exists (
        select from segment as earlier
        where
            earlier.brand_id = later.brand_id
            and earlier.status = 'active'
            and earlier.id < later.id
            and translate(lower(btrim(earlier.name)), 'ς', 'σ') = translate(lower(btrim(later.name)), 'ς', 'σ')
    );

drop index segment_active_name;
create unique index segment_active_name on segment (brand_id, translate(lower(btrim(name)), 'ς', 'σ'))
where status = 'active';

-- migrate:down
