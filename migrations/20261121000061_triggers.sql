-- migrate:up

-- Events that campaigns of their brand start at, from the tick that brought them into the lake until their runs are made.
create table trigger_event (
    brand_id uuid not null references brand,
    -- As the lake calls it.
    event_id text not null,
    event_type text not null,
    -- The customer, as the event names them.
    subject integer,
    occurred_at timestamptz not null,
    -- Not jsonb: 1e308 takes no 309 digits.
    properties json not null,
    added_at timestamptz not null default now(),
    -- A brand whose events cannot be worked on now waits, and holds up no other.
    due_at timestamptz not null default '-infinity',
    primary key (brand_id, event_id)
);
create index trigger_event_due on trigger_event (due_at);
create index trigger_event_subject on trigger_event (brand_id, subject) where subject is not null;
call wall('trigger_event');

-- How far the results of refreshes were searched for what campaigns start at.
create table trigger_cursor (
    brand_id uuid primary key references brand,
    -- Of members.
    generation integer not null,
    -- Of what follows from the passing of time.
    as_of timestamptz not null
);
call wall('trigger_cursor');

-- Which record a delivery made or updated: it is what its event starts campaigns about.
alter table custom_delivery add column custom_event_id uuid;

-- What events of a type tell campaigns: the names of triggers differ from those of the events that they come from.
create function awaited_event(trigger_event text) returns text
language sql immutable
return case trigger_event
    when 'order_fulfilled' then 'fulfillment_updated'
    when 'subscription_cancelled' then 'subscription_changed'
    else trigger_event
end;

-- migrate:down
