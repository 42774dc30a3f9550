-- The entries of `lines`, one row each.
create view element as
select n, external_id, pos - 1 as pos, entry
from (
    select n, external_id, unnest(entries) as entry, generate_subscripts(entries, 1) as pos
    from (select n, external_id, json_extract(lines, '$[*]') as entries from picked where lines is not null)
)
