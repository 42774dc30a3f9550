-- migrate:up

-- Segments that the version's definition names: what keeps an active segment from being archived.
alter table segment_version add column refers_to uuid[] not null default '{}';

-- Before this instant the segment has no generation that a question about the past could take.
alter table segment add column first_evaluated_at timestamptz;
update segment set first_evaluated_at = evaluated_at;

-- migrate:down
