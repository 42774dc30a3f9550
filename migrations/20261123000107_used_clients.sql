-- migrate:up

-- Of a client: when somebody last let it do something. Those from before this are taken to be in use.
alter table oidc_record add column used_at timestamptz;
update oidc_record set used_at = created_at where model = 'Client';

-- migrate:down
