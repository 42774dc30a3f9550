-- migrate:up

-- Identities of profiles list their visitors.
create index identifier_visitors_subject on identifier (brand_id, subject) where kind = 'anonymous_id';

-- migrate:down
