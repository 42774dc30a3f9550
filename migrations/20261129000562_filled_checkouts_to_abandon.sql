-- migrate:up transaction:false

-- Those that are abandoned when their time is over: an empty one never is.
create index concurrently if not exists checkout_filled_to_abandon on checkout (brand_id, updated_at)
where state = 'open' and subject is not null and not deleted and not empty;

-- migrate:down
