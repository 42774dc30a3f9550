-- migrate:up

-- When a contact's code was used, by whomever: the store takes it once. Noted as an order is written, which costs those
-- without a code nothing; to look for it among the orders would take an index of all of them.
alter table discount_code add column used_at timestamptz;

create function note_used_codes() returns trigger
language plpgsql
as $$
begin
    update discount_code
    set used_at = new.created_at
    where brand_id = new.brand_id
        and code in (select upper(given.code) from unnest(new.discount_codes) as given (code))
        and used_at is null;
    return null;
end
$$;

create trigger note_used_codes after insert or update of discount_codes on store_order
for each row when (new.discount_codes <> '{}' and not new.deleted) execute function note_used_codes();

update discount_code
set used_at = used.at
from (
    select brand_id, upper(given.code) as code, min(created_at) as at
    from store_order
    cross join lateral unnest(discount_codes) as given (code)
    where discount_codes <> '{}' and not deleted
    group by brand_id, upper(given.code)
) as used
where discount_code.brand_id = used.brand_id and discount_code.code = used.code;

-- migrate:down
