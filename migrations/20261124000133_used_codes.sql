-- migrate:up

-- When a contact's code was used, by whomever: the store takes it once. Noted as an order is written, which costs those
-- without a code nothing; to look for it among the orders would take an index of all of them.
alter table discount_code add column used_at timestamptz;

create function pg_temp.note_codes_since(since xid8) returns void
language sql
as $$
    update discount_code
    set used_at = used.at
    from (
        select brand_id, upper(given.code) as code, min(created_at) as at
        from store_order
        cross join lateral unnest(discount_codes) as given (code)
        where discount_codes <> '{}' and not deleted and xid >= since
        group by brand_id, upper(given.code)
    ) as used
    where
        discount_code.brand_id = used.brand_id
        and discount_code.code = used.code
        and (used_at is null or used_at > used.at);
$$;

-- Orders are written meanwhile: the trigger keeps them out only while what came since is looked at.
select set_config('recoup.noted_since', pg_snapshot_xmin(pg_current_snapshot())::text, true);
select pg_temp.note_codes_since('0');

-- Planned anew each time: a connection that planned it while there were few codes would read all of them for each order.
create function note_used_codes() returns trigger
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
declare
    codes text[] := array(select upper(code) from unnest(new.discount_codes) as given (code));
begin
    update discount_code
    set used_at = new.created_at
    where brand_id = new.brand_id and code = any (codes) and used_at is null;
    return null;
end
$$;

create trigger note_used_codes after insert or update of discount_codes on store_order
for each row when (new.discount_codes <> '{}' and not new.deleted) execute function note_used_codes();

select pg_temp.note_codes_since(current_setting('recoup.noted_since')::xid8);

-- migrate:down
