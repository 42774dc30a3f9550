-- migrate:up

-- Published files have members by their place among the ids: what was published before is made anew by the next refresh.
delete from served_generation;
update lake_brand set results = results - 'recipe';

-- migrate:down
