-- migrate:up

-- Names that say the same in any case are one, and a Σ at the end of a word is ς in lower case.
create function segment_name_key(name text) returns text
language sql immutable parallel safe
return translate(lower(btrim(name)), 'ς', 'σ');

drop index segment_active_name;
create unique index segment_active_name on segment (brand_id, segment_name_key(name)) where status = 'active';

-- migrate:down
