-- migrate:up

-- Whether the order still follows a touch of its customer; it is recovered while it also counts.
alter table attribution add column follows boolean not null default true;

-- Of what does not count now, nothing tells: it followed one. They go to the lake no more for that.
alter table attribution disable trigger set_xid;
update attribution
set follows = false
from store_order as placed
where
    not attribution.recovered
    and placed.brand_id = attribution.brand_id
    and placed.id = attribution.order_id
    and placed.state = 'complete'
    and not placed.test
    and not placed.deleted;
alter table attribution enable trigger set_xid;

-- migrate:down
