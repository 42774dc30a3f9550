-- migrate:up

-- A letter and its accent say the same whether they are one character or two. Names that were two are told apart by the id
-- of the later segment.
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
            and normalize(segment_name_key(earlier.name)) = normalize(segment_name_key(later.name))
    );

drop index segment_active_name;

create or replace function segment_name_key(name text) returns text
language sql immutable parallel safe
return normalize(translate(lower(btrim(name)), 'ς', 'σ'));

create unique index segment_active_name on segment (brand_id, segment_name_key(name)) where status = 'active';

-- migrate:down
