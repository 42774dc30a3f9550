-- migrate:up

-- Brands whose attribution failed: below which transaction theirs were looked at. All others are as far as
-- attribution_state says.
create table attribution_behind (
    brand_id uuid primary key references brand,
    looked_below xid8 not null,
    failures integer not null default 1,
    due_at timestamptz not null default now()
);
call wall('attribution_behind');

-- migrate:down
