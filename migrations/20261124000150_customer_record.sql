-- migrate:up

-- A record of the customer said when it was written: since then older ones change nothing. Equal times do not tell: many
-- records were never changed since they were made.
alter table customer add column has_record boolean not null default false;

-- Of others the times tell. They go to the lake no more for that.
alter table customer disable trigger set_xid;
update customer
set has_record = true
from store_version
where
    customer.updated_at = customer.created_at
    and store_version.brand_id = customer.brand_id
    and kind = 'customer'
    and external_id = store_customer_id;
alter table customer enable trigger set_xid;

-- migrate:down
