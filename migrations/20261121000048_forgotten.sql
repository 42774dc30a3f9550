-- migrate:up

-- What retention looks for.
create index custom_delivery_received on custom_delivery (received_at);
create index visitor_claim_claimed on visitor_claim (claimed_at);

-- migrate:down
