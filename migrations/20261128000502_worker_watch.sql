-- migrate:up

-- When somebody last did the jobs of the service, and when somebody did again after a time in which nobody had.
create table worker_watch (
    only_row boolean primary key default true check (only_row),
    seen_at timestamptz,
    resumed_at timestamptz
);
insert into worker_watch default values;

-- The table is of no brand; what a brand may know of it is this.
create function jobs_resumed_at() returns timestamptz
language sql stable security definer
set search_path = public, pg_temp
as $$
    select resumed_at from worker_watch
$$;

-- What a store sold while nobody listened is not known before its orders were read again. Until then nothing is said to its
-- customers of the brand's own accord, for an hour at most: until when that is, and null where nothing is waited for.
create function store_awaited_until(brand uuid) returns timestamptz
language sql stable
as $$
    select jobs_resumed_at() + interval '1 hour'
    where
        exists (select from store_connection where brand_id = brand and status = 'connected')
        and not exists (
            select
            from store_sync
            where
                brand_id = brand
                and purpose = 'reconcile'
                and entity = 'orders'
                and finished_at >= jobs_resumed_at()
        )
$$;

-- migrate:down
