-- migrate:up transaction:false

-- Who is erased is looked up with all that names them, not only with their visitors: without this each erasure read all
-- identifiers of the brand. Built while events go on naming people.
create index concurrently if not exists identifier_subject on identifier (brand_id, subject);

-- migrate:down
