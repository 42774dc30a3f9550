-- migrate:up

-- A version 8 UUID of brand and external id: the same record gets the same id wherever it comes from again.
create function made_id(brand uuid, kind text, external_id text) returns uuid
language sql immutable strict parallel safe
return overlay(overlay(md5(brand::text || ':' || kind || ':' || external_id) placing '8' from 13) placing 'a' from 17)::uuid;

-- migrate:down
