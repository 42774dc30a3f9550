-- migrate:up

-- Callers see whether the store has removed the app; what needs a connected store is refused from then on.
create or replace view brand_shown with (security_invoker = true) as
select
    id,
    name,
    shop_domain,
    storefront_domains,
    currency_code,
    timezone,
    default_phone_region,
    features,
    created_at,
    exists (
        select from store_connection
        where store_connection.brand_id = brand.id and store_connection.status = 'disconnected'
    ) as store_left
from brand;

create or replace view good_standing with (security_invoker = true) as
select
    membership.user_id,
    membership.role,
    app_user.email,
    app_user.is_staff,
    brand_shown.*
from membership
join app_user on app_user.id = membership.user_id and app_user.disabled_at is null
join brand_shown on brand_shown.id = membership.brand_id;

create function announce_store() returns trigger
language plpgsql
as $$
begin
    perform pg_notify('recoup_access', 'brand ' || new.brand_id);
    return null;
end
$$;

create trigger announce_change after update of status on store_connection
for each row when (old.status is distinct from new.status) execute function announce_store();

-- migrate:down
