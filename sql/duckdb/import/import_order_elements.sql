-- The entries of `lines`, one row each, of the first row of an order that has some.
create table first_lines as
select external_id, min(n) as n, count(*) > 1 as is_repeated
from picked
where lines is not null
group by external_id;

create view element as
select n, external_id, pos - 1 as pos, entry
from (
    select n, external_id, unnest(entries) as entry, generate_subscripts(entries, 1) as pos
    from (select n, external_id, json_extract(lines, '$[*]') as entries from picked where n in (select n from first_lines))
);
