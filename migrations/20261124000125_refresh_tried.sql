-- migrate:up

-- The job that was handed the brand last, the worker that ran it, and since when it is at it; null when it is not any more.
alter table lake_brand
    add column tried_by uuid,
    add column tried_in uuid,
    add column tried_at timestamptz;

-- migrate:down
