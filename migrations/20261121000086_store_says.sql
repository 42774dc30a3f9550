-- migrate:up

-- A version of the store's record of the customer named an email or phone: since then the record alone says which.
alter table customer
    add column email_by_record boolean not null default false,
    add column phone_by_record boolean not null default false;

-- Of those whose record is known already it may have named what they have. They go to the lake no more for that.
alter table customer disable trigger set_xid;
update customer
set email_by_record = email is not null, phone_by_record = phone is not null
where
    (email is not null or phone is not null)
    and exists (
        select from store_version
        where
            store_version.brand_id = customer.brand_id
            and kind = 'customer'
            and external_id = customer.store_customer_id
    );
alter table customer enable trigger set_xid;

-- The store's id of the cart that it came from.
alter table checkout add column cart_id text;

-- When the store gave the token that we have. `connected_at` is where history ends and news begins.
alter table store_connection add column token_at timestamptz;
update store_connection set token_at = connected_at;
alter table store_connection alter column token_at set not null;

-- migrate:down
