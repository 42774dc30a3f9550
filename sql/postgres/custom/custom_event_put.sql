insert into custom_event (brand_id, id, provider_id, definition_id, external_id, contact_id, event_id, data)
values ($1, $2, $3, $4, $5, $6, $7, $8::text::json)
on conflict (brand_id, definition_id, external_id) do update
set
    contact_id = excluded.contact_id,
    event_id = excluded.event_id,
    data = excluded.data,
    deliveries = custom_event.deliveries + 1,
    updated_at = now()
returning
    id,
    -- Of whom the contact is, where its email or phone alone would name who had it before.
    (
        select profile.store_customer_id
        from contact
        left join subject_redirect as redirect
            on redirect.brand_id = $1 and redirect.subject = contact.subject and not redirect.deleted
        join customer as profile
            on profile.brand_id = $1 and profile.subject = coalesce(redirect.customer, contact.subject) and not profile.deleted
        where contact.brand_id = $1
            and contact.id = $6
            and exists (
                select
                from identifier
                left join subject_redirect as other
                    on other.brand_id = $1 and other.subject = identifier.subject and not other.deleted
                where identifier.brand_id = $1
                    and (
                        (identifier.kind = 'email' and identifier.value = contact.email)
                        or (identifier.kind = 'phone' and identifier.value = contact.phone)
                    )
                    and coalesce(other.customer, identifier.subject) <> profile.subject
            )
    ) as store_customer_id
