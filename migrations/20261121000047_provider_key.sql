-- migrate:up

-- Keys of a brand that differ in case only would be taken for one another.
update provider set key = left(key, 27) || '_' || id
where
    exists (
        select from provider as older
        where
            older.brand_id = provider.brand_id
            and lower(older.key) = lower(provider.key)
            and (older.created_at, older.id) < (provider.created_at, provider.id)
    );
alter table provider drop constraint provider_brand_id_key_key;
create unique index provider_key on provider (brand_id, lower(key));

-- migrate:down
