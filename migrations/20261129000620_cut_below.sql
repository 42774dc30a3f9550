-- migrate:up

-- What committed before the cut has a transaction id below this, whatever its senders' clocks said.
alter table erasure add column cut_below xid8;
create index erasure_cut_below on erasure (brand_id, cut_below) where cut_below is not null;

-- migrate:down
