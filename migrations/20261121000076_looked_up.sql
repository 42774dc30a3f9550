-- migrate:up

-- Published files have their rows by customer in a file beside them: the next refresh makes them anew.
delete from served_generation;
update lake_brand set results = results - 'recipe';

-- migrate:down
