-- migrate:up transaction:false

-- The newest of a profile's visitors are read first, however many there are. Built while events go on naming people.
create index concurrently if not exists subject_redirect_newest on subject_redirect (brand_id, customer, subject);

-- migrate:down
