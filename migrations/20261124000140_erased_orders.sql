-- migrate:up

-- Of a customer who was erased, and of nobody since: it says nothing that could tell whose it was, however it comes again.
alter table store_order add column erased boolean not null default false;
alter table checkout add column erased boolean not null default false;

-- What the shopper typed in this checkout, normalised: the customer may have another since, or have had one before.
alter table checkout add column email text, add column phone text;

-- What an erasure before now left of them, and what names as little, which may have been theirs. They go to the lake no
-- more for that.
alter table store_order disable trigger set_xid;
update store_order
set erased = true
from (select brand_id, max(erased_at) as newest from tombstone group by brand_id) as erasure
where
    store_order.brand_id = erasure.brand_id
    and created_at <= newest
    and subject is null
    and (email, phone, number, checkout_token) is not distinct from (null, null, null, null)
    and discount_codes = '{}';
alter table store_order enable trigger set_xid;
alter table checkout disable trigger set_xid;
update checkout
set erased = true
from (select brand_id, max(erased_at) as newest from tombstone group by brand_id) as erasure
where
    checkout.brand_id = erasure.brand_id
    and created_at <= newest
    and subject is null
    and (url, token, cart_id) is not distinct from (null, null, null);
alter table checkout enable trigger set_xid;

-- However an order comes back from before the erasure, it comes without a name.
create or replace function keep_erased_out() returns trigger
language plpgsql
as $$
begin
    if exists (select from tombstone where brand_id = new.brand_id and erased_at >= new.created_at) and exists (
        select from tombstone
        where brand_id = new.brand_id
            and erased_at >= new.created_at
            and hash in (
                tombstone_hash(new.brand_id, 'email', lower(btrim(new.email))),
                tombstone_hash(new.brand_id, 'phone', new.phone)
            )
    ) then
        new.email := null;
        new.phone := null;
        -- Somebody else may have ordered with the same address.
        new.erased := new.subject is null;
    end if;
    return new;
end
$$;

-- What is inserted may be a version of a row that is there: on conflict that is what `excluded` is.
create function keep_order_erased() returns trigger
language plpgsql
as $$
begin
    new.erased := new.subject is null and (
        new.erased
        or exists (select from store_order where brand_id = new.brand_id and external_id = new.external_id and erased)
    );
    if new.erased then
        new.email := null;
        new.phone := null;
        new.number := null;
        new.discount_codes := '{}';
        new.checkout_token := null;
        -- Parcels can be known before their order.
        update fulfillment
        set tracking_numbers = '{}', tracking_urls = '{}'
        where
            brand_id = new.brand_id
            and order_external_id = new.external_id
            and (tracking_numbers <> '{}' or tracking_urls <> '{}');
    end if;
    return new;
end
$$;

-- After keep_erased_out, by its name.
create trigger keep_order_erased before insert or update on store_order
for each row when (new.subject is null or new.erased) execute function keep_order_erased();

create function keep_checkout_erased() returns trigger
language plpgsql
as $$
begin
    new.erased := new.subject is null and (
        new.erased
        or exists (select from checkout where brand_id = new.brand_id and external_id = new.external_id and erased)
    );
    if new.erased then
        new.email := null;
        new.phone := null;
        new.url := null;
        new.token := null;
        new.cart_id := null;
    end if;
    return new;
end
$$;

-- Before keep_checkout_erased, by its name.
create trigger keep_address_erased before insert or update of email, phone, created_at on checkout
for each row when (new.email is not null or new.phone is not null) execute function keep_erased_out();

create trigger keep_checkout_erased before insert or update on checkout
for each row when (new.subject is null or new.erased) execute function keep_checkout_erased();

create function keep_fulfillment_erased() returns trigger
language plpgsql
as $$
begin
    if exists (
        select from store_order
        where brand_id = new.brand_id and external_id = new.order_external_id and erased
    ) then
        new.tracking_numbers := '{}';
        new.tracking_urls := '{}';
    end if;
    return new;
end
$$;

create trigger keep_fulfillment_erased before insert or update on fulfillment
for each row when (new.tracking_numbers <> '{}' or new.tracking_urls <> '{}') execute function keep_fulfillment_erased();

-- migrate:down
