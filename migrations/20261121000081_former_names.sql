-- migrate:up

-- Names that event types had: what was accepted under one starts the campaigns that follow the new one.
create table event_rename (
    brand_id uuid not null,
    definition_id uuid not null,
    old_type text not null,
    renamed_at timestamptz not null,
    primary key (brand_id, definition_id, old_type),
    foreign key (brand_id, definition_id) references event_definition (brand_id, id) on delete cascade
);
call wall('event_rename');

-- What the store says of the delivery of an order; null: nothing.
alter table store_order
    add column fulfillment_status text check (fulfillment_status in ('unfulfilled', 'partial', 'fulfilled', 'restocked'));

-- migrate:down
