-- migrate:up

-- Models and segments are published apart: a generation names the files of both, each by the refresh that made it last.
-- What was published before holds both in one file and is made anew.
delete from served_generation;
alter table served_generation
    add column models_base_path text not null,
    add column models_changes_path text,
    -- The marts of everyone, where they are newer than the base.
    add column models_sums_path text;
alter table lake_brand
    -- What the published models are of, as refreshed_tick, as_of and changed_customers say it of segments.
    add column models_tick bigint not null default -1,
    add column models_as_of timestamptz,
    add column models_changed_customers bigint not null default 0;
update lake_brand set results = results - 'recipe';
-- Marts are in the served file only.
update lake_file set retired_at = now() where relation like 'result:%' and retired_at is null;

-- migrate:down
