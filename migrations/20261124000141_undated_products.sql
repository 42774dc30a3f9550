-- migrate:up

-- When a product changed last; null: the file that told of it did not say.
alter table product alter column updated_at drop not null, alter column updated_at drop default;

-- That was the time of the import before, which has microseconds; stores and files say seconds or milliseconds.
update product
set updated_at = null
where
    updated_at <> date_trunc('milliseconds', updated_at)
    and not exists (
        select from store_version
        where store_version.brand_id = product.brand_id and kind = 'product' and external_id = product.id
    );

-- migrate:down
