-- migrate:up

-- One that is behind is looked at in rounds: all that changed from looked_below until round_below. Of a round that was cut
-- off the customers up to done_to, by their numbers, have been looked at: the next look goes on after them.
alter table attribution_behind
add column round_below xid8,
add column done_to integer,
add check ((round_below is null) = (done_to is null));

-- migrate:down
