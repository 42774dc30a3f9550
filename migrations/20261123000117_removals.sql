-- migrate:up

-- How often unlisted files were removed: what was written before, and not published yet, is gone.
alter table lake_state add column removals bigint not null default 0;

-- migrate:down
