-- migrate:up

-- The shop's currency, which the brand's need not be. Null: the store did not say, and it counts as the brand's.
alter table store_connection add column currency_code text;

-- migrate:down
