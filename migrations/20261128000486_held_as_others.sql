-- migrate:up

-- A contact that becomes somebody's is refused as their others are, too.
create or replace function refuse_as_others() returns trigger
language plpgsql
as $$
declare
    refused record;
begin
    if new.phone is not null and refused_by_others(new.brand_id, new.id, 'sms', new.phone) is not null then
        new.sms_consent := 'unsubscribed';
    end if;
    if new.email is not null and refused_by_others(new.brand_id, new.id, 'email', new.email) is not null then
        new.email_consent := 'unsubscribed';
    end if;
    if new.subject is not null then
        -- Held, and read as they are then: what one of them is saying meanwhile counts for this one, too.
        select
            coalesce(bool_or(sms_consent = 'unsubscribed'), false) as sms,
            coalesce(bool_or(email_consent = 'unsubscribed'), false) as email
        into refused
        from subjects_of_person(new.brand_id, new.subject) as theirs (subject)
        cross join lateral (
            select sms_consent, email_consent
            from contact
            where contact.brand_id = new.brand_id and contact.subject = theirs.subject and contact.id <> new.id
            offset 0
            for no key update
        ) as other;
        if refused.sms then
            new.sms_consent := 'unsubscribed';
        end if;
        if refused.email then
            new.email_consent := 'unsubscribed';
        end if;
    end if;
    return new;
end
$$;

-- migrate:down
