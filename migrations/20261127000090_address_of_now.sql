-- migrate:up

-- Whom an identifier means, before merges: who was named with it first. An email or phone that they have no more means the
-- first of the others who has it: the store says whose an address is now. Null where nobody is meant.
create function meant_by(uuid, text, text)
returns integer
language sql
stable
strict
as $$
    with named as (
        select subject, 0 as turn from identifier where brand_id = $1 and kind = $2 and value = $3
        union all
        -- At most ten.
        select subject, 1 from identifier_claim
        where brand_id = $1 and kind = $2 and value = $3 and kind in ('email', 'phone')
    )

    select named.subject
    from named
    order by
        -- Of few identifiers there is anybody else.
        case
            when (select count(*) from named) > 1
                then exists (
                    select
                    from coalesce(
                        (select customer from subject_redirect where brand_id = $1 and subject = named.subject and not deleted),
                        named.subject
                    ) as survivor
                    cross join lateral (
                        select survivor as subject
                        union all
                        select redirect.subject
                        from subject_redirect as redirect
                        where
                            redirect.brand_id = $1
                            and redirect.customer = survivor
                            and not redirect.deleted
                            and not redirect.by_browser
                    ) as member
                    -- Joined, all customers of the brand would be read.
                    where (
                        select case $2 when 'email' then profile.email when 'phone' then profile.phone end
                        from customer as profile
                        where profile.brand_id = $1 and profile.subject = member.subject and not profile.deleted
                    ) = $3
                )
        end desc,
        turn,
        subject
    limit 1
$$;

-- As before; but an email or phone means who has it now.

-- Whom an identifier names, and the newest generation of published results: one row, with a profile, a contact, both or
-- neither. $2 is a kind of identifier, contact_id, or none: then $3 is the id of a profile, as it is of a contact_id that
-- no contact has. The profile is as customer_found has it; the named contact is the one that has the identifier.
create or replace function in_brand_party_found(uuid, text, text)
returns table (
    customer integer,
    customer_id text,
    subjects integer[],
    contact_id uuid,
    named_contact_id uuid,
    is_by_id boolean,
    generation bigint
)
language plpgsql
rows 1
as $$
#variable_conflict use_column
begin
    perform set_config('app.brand', $1::text, true);
    return query
    with named_contacts as (
        select id, subject, email, phone from contact where brand_id = $1 and $2 = 'email' and email = $3
        union all
        select id, subject, email, phone from contact where brand_id = $1 and $2 = 'phone' and phone = $3
        union all
        select id, subject, email, phone from contact where brand_id = $1 and id = case when $2 = 'contact_id' then $3::uuid end
    ),

    by_id as (
        select $3 as id
        where $2 = 'none' or $2 = 'contact_id' and not exists (select 1 from named_contacts)
    ),

    subjects as (
        select subject, 0 as turn from meant_by($1, $2, $3) as subject
        union all
        select subject, 1 from named_contacts where subject is not null
        union all
        select subject, 2 from meant_by($1, 'email', (select email from named_contacts)) as subject
        union all
        select subject, 3 from meant_by($1, 'phone', (select phone from named_contacts)) as subject
        union all
        select subject, 4 from customer
        where brand_id = $1 and id = (select by_id.id from by_id) and erased_at is null and not deleted
        union all
        select subject, 5 from identifier where brand_id = $1 and kind = 'profile_id' and value = (select id from by_id)
    ),

    -- At most one contact has an identifier. Materialized: joined in one step, all customers of the brand would be read.
    survivor as materialized (
        select coalesce(redirect.customer, named.subject) as subject
        from (select subject from subjects where subject is not null order by turn limit 1) as named
        left join subject_redirect as redirect
            on redirect.brand_id = $1 and redirect.subject = named.subject and not redirect.deleted
    ),

    found as (
        select profile.subject, profile.id, profile.email, profile.phone
        from survivor
        join customer as profile on profile.brand_id = $1 and profile.subject = survivor.subject and not profile.deleted
    ),

    linked as (
        select subject from found
        union all
        select redirect.subject
        from found
        join subject_redirect as redirect
            on redirect.brand_id = $1 and redirect.customer = found.subject and not redirect.deleted
    ),

    -- Its own, else those of the oldest profile that was merged into it, as in the model stg_customers. Only then are
    -- merged profiles read: visitors can be many.
    channels as (
        select
            coalesce(found.email, (
                select profile.email
                from subject_redirect as redirect
                join customer as profile
                    on profile.brand_id = $1
                    and profile.subject = redirect.subject
                    and profile.provenance <> 'pixel'
                    and not profile.deleted
                where
                    redirect.brand_id = $1
                    and redirect.customer = found.subject
                    and not redirect.deleted
                    and not redirect.by_browser
                    and profile.email is not null
                order by profile.subject
                limit 1
            )) as email,
            coalesce(found.phone, (
                select profile.phone
                from subject_redirect as redirect
                join customer as profile
                    on profile.brand_id = $1
                    and profile.subject = redirect.subject
                    and profile.provenance <> 'pixel'
                    and not profile.deleted
                where
                    redirect.brand_id = $1
                    and redirect.customer = found.subject
                    and not redirect.deleted
                    and not redirect.by_browser
                    and profile.phone is not null
                order by profile.subject
                limit 1
            )) as phone
        from found
    ),

    contacts as (
        select contact.id, contact.created_at, contact.email is null and contact.phone is null as is_bare
        from linked
        join contact on contact.brand_id = $1 and contact.subject = linked.subject
        union all
        select contact.id, contact.created_at, false
        from channels
        join contact on contact.brand_id = $1 and contact.email = channels.email
        where contact.subject is null
        union all
        select contact.id, contact.created_at, false
        from channels
        join contact on contact.brand_id = $1 and contact.phone = channels.phone
        where contact.subject is null
    )

    select
        found.subject as customer,
        found.id as customer_id,
        array(select linked.subject from linked order by linked.subject) as subjects,
        (select contacts.id from contacts order by is_bare, created_at, id limit 1) as contact_id,
        (select named_contacts.id from named_contacts limit 1) as named_contact_id,
        exists (select 1 from by_id) as is_by_id,
        brand.generation
    from (select coalesce((select lake_brand.generation from lake_brand where lake_brand.brand_id = $1), 0) as generation) as brand
    left join found on true;
end
$$;

-- migrate:down
