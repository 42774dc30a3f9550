-- migrate:up

-- The store's id of the customer whose a contact is, where its email or phone alone would name who had it before.
create function owner_to_tell(uuid, uuid)
returns text
language sql
stable
strict
as $$
    select profile.store_customer_id
    from contact
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = contact.subject and not redirect.deleted
    join customer as profile
        on profile.brand_id = $1 and profile.subject = coalesce(redirect.customer, contact.subject) and not profile.deleted
    where
        contact.brand_id = $1
        and contact.id = $2
        and exists (
            select
            from identifier
            left join subject_redirect as other
                on other.brand_id = $1 and other.subject = identifier.subject and not other.deleted
            where
                identifier.brand_id = $1
                and (
                    (identifier.kind = 'email' and identifier.value = contact.email)
                    or (identifier.kind = 'phone' and identifier.value = contact.phone)
                )
                and coalesce(other.customer, identifier.subject) <> profile.subject
        )
$$;

-- migrate:down
