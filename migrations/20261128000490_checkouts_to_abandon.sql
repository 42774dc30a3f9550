-- migrate:up transaction:false

-- Those that are abandoned when their time is over. One that names nobody never is: such ones were read each minute, more with
-- each one, and before all others. Built while checkouts come and go.
create index concurrently if not exists checkout_to_abandon on checkout (brand_id, updated_at)
where state = 'open' and subject is not null and not deleted;

-- migrate:down
