-- migrate:up

-- A secret that was replaced may go on being taken for a while beside the new one, so that its senders can change over.
alter table provider
add column former_secret bytea,
add column former_until timestamptz,
add constraint provider_former check ((former_secret is null) = (former_until is null));

-- migrate:down
