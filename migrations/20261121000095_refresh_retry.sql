-- migrate:up

alter table lake_brand
    -- Of the last failed refresh, whatever came after it.
    add column failed_at timestamptz,
    -- Until then the planner lets other brands have their turn.
    add column retry_at timestamptz;

-- migrate:down
