-- migrate:up transaction:false

-- As of checkouts. Of few refunds: most name an order, which says whose they are.
create index concurrently if not exists refund_subject on refund (brand_id, subject) where subject is not null;

-- migrate:down
