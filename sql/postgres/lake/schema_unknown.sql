-- Of the versions of the schema, those that are not among these.
select version from schema_migrations where version <> all($1::text[]) order by version
