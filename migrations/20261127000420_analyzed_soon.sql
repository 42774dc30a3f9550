-- migrate:up

-- Of a brand that came after the last analysis of a table the planner expects one row, and takes any index that begins
-- with the brand. Postgres looks again when a tenth of a table is new: beside a large brand that is never, or late.
do $$
declare
  name regclass;
begin
  for name in
    select attrelid::regclass
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where attname = 'brand_id' and relnamespace = 'public'::regnamespace and relkind = 'r' and not relispartition
  loop
    execute format(
      'alter table %s set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000)', name);
  end loop;
end
$$;

-- migrate:down
