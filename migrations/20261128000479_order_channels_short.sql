-- migrate:up

-- Imports kept whatever a file had for an email or phone, however long; the indexes to come hold none that is longer than a
-- page allows. No address or number is that long.
alter table store_order
add constraint store_order_channels_short check (length(email) <= 320 and length(phone) <= 320) not valid;

update store_order
set email = case when length(email) <= 320 then email end, phone = case when length(phone) <= 320 then phone end
where length(email) > 320 or length(phone) > 320;

-- migrate:down
