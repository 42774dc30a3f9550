-- migrate:up

-- A version of the store's record of the customer named an email or phone: since then the record alone says which.
alter table customer
    add column email_by_record boolean not null default false,
    add column phone_by_record boolean not null default false;

-- migrate:down
