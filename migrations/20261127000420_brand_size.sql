-- migrate:up

-- How many rows a brand has, the planner is not to learn. Of a brand that came since the last analyze it would expect one
-- row, and then any index that begins with the brand is as good as the key: beside 200,000 orders of another brand a webhook
-- of one with 30,000 read all of these, several times, until a tenth of the table was new. Without statistics it expects a
-- two-hundredth of the table of every brand, which makes the key better, always.
create or replace procedure wall(relation regclass, brand_column name default 'brand_id')
language plpgsql
as $$
begin
    execute format('alter table %s enable row level security', relation);
    execute format('alter table %s force row level security', relation);
    execute format(
        'create policy one_brand on %s to recoup_app using (%I = (select current_brand())) with check (%I = (select current_brand()))',
        relation, brand_column, brand_column
    );
    execute format('grant select, insert, update, delete on %s to recoup_app', relation);
    execute format('create policy all_brands on %s to recoup_pipeline using (true) with check (true)', relation);
    execute format('create policy owner_all on %s to %I using (true) with check (true)', relation, current_user);
    execute format('alter table %s alter column %I set statistics 0', relation, brand_column);
end
$$;

do $$
declare
    relation regclass;
    brand_column name;
begin
    for relation, brand_column in
        select attrelid, attname
        from pg_policy
        join pg_attribute on attrelid = polrelid
        where polname = 'one_brand' and attname = case polrelid::regclass::text when 'brand' then 'id' else 'brand_id' end
    loop
        execute format('alter table %s alter column %I set statistics 0', relation, brand_column);
        -- Before Postgres 18 what was known stays known.
        if to_regprocedure('pg_clear_attribute_stats(text, text, text, boolean)') is not null then
            perform pg_clear_attribute_stats('public', relation::text, brand_column::text, false);
        end if;
    end loop;
end
$$;

-- migrate:down
