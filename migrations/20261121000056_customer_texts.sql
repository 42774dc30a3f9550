-- migrate:up

-- Published files have the texts that searches look through: the next refresh makes them anew.
delete from served_generation;
update lake_brand set results = results - 'recipe';

-- migrate:down
