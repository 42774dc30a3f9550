-- migrate:up

alter table custom_delivery validate constraint custom_delivery_contact_fkey;

-- migrate:down
