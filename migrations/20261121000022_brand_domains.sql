-- migrate:up

-- A shop or storefront domain says whose the events of a page are: it belongs to one brand.
create index brand_storefront_domains on brand using gin (storefront_domains);

-- Sees all brands, whoever changes one.
create function keep_domains_apart() returns trigger
language plpgsql
security definer
set search_path = public, pg_temp
as $$
declare
    taken text;
begin
    -- One at a time: two brands may ask for a domain at the same moment.
    perform pg_advisory_xact_lock(hashtext('brand domains'));
    select domain into taken
    from unnest(new.storefront_domains || new.shop_domain) as domain
    join brand on brand.id <> new.id and (brand.shop_domain = domain or brand.storefront_domains @> array[domain])
    limit 1;
    if found then
        raise exception 'the domain % belongs to another brand', taken
        using errcode = 'unique_violation', detail = taken;
    end if;
    return new;
end
$$;

create trigger keep_domains_apart before insert or update of shop_domain, storefront_domains on brand
for each row execute function keep_domains_apart();

-- migrate:down
