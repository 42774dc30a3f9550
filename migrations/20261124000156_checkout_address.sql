-- migrate:up

-- What the shopper typed in this checkout, normalised: the customer may have another since, or have had one before.
alter table checkout add column email text, add column phone text;

-- Before keep_checkout_erased, by its name.
create trigger keep_address_erased before insert or update of email, phone, created_at on checkout
for each row when (new.email is not null or new.phone is not null) execute function keep_erased_out();

create or replace function keep_checkout_erased() returns trigger
language plpgsql
as $$
begin
    new.erased := new.subject is null and (
        new.erased
        or exists (select from checkout where brand_id = new.brand_id and external_id = new.external_id and erased)
    );
    if new.erased then
        new.email := null;
        new.phone := null;
        new.url := null;
        new.token := null;
        new.cart_id := null;
    end if;
    return new;
end
$$;

-- migrate:down
