-- migrate:up

-- Bytes of the lines of the tick that is being made: after a kill the next try takes less.
alter table lake_state add column attempted_bytes bigint;

-- migrate:down
