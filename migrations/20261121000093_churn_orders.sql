-- migrate:up

-- Published churn has no orders yet: the next refresh makes it anew.
delete from served_generation;
update lake_brand set results = results - 'recipe';

-- migrate:down
