-- migrate:up

-- All ordinals of the customers who have one of these.
create function same_customer(brand uuid, subjects integer[]) returns setof integer
language sql stable
begin atomic
    with customers as (
        select coalesce(redirect.customer, given.subject) as customer
        from unnest(subjects) as given (subject)
        left join subject_redirect as redirect
            on redirect.brand_id = brand and redirect.subject = given.subject and not redirect.deleted
    )

    select customer from customers
    union
    select redirect.subject
    from customers
    join subject_redirect as redirect
        on redirect.brand_id = brand and redirect.customer = customers.customer and not redirect.deleted;
end;

-- When somebody first bought after an instant, or what a checkout became: an order that is cancelled or a test is none.
create function bought_since(brand uuid, subject integer, source_kind text, source_id text, since timestamptz)
returns timestamptz
language sql stable
begin atomic
    select min(placed.created_at)
    from store_order as placed
    where
        placed.brand_id = brand
        and not placed.deleted
        and not placed.test
        and placed.state <> 'cancelled'
        and (
            (
                placed.created_at > since
                and placed.subject in (select same_customer(brand, array[bought_since.subject]))
            )
            or (source_kind = 'checkout' and placed.checkout_external_id = source_id)
        );
end;

-- migrate:down
