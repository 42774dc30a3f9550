-- migrate:up

-- As before, without a contact that only identities had.
drop function in_brand_customer_found(uuid, text, boolean);

-- The profile that an id names, or the one that it was merged into, with all ordinals that are theirs, their oldest
-- contact, and the newest generation of published results. An id is the public one, or the one that a sender of events
-- chose. $3: with the visitors of any of the ordinals.
create function in_brand_customer_found(uuid, text, boolean)
returns table (
    customer integer,
    customer_id text,
    subjects integer[],
    contact_id uuid,
    generation bigint,
    visitor_ids text[]
)
language plpgsql
rows 1
as $$
#variable_conflict use_column
begin
    perform set_config('app.brand', $1::text, true);
    return query
    with named as (
        select subject from customer where brand_id = $1 and id = $2 and erased_at is null and not deleted
        union all
        select subject from identifier where brand_id = $1 and kind = 'profile_id' and value = $2
        limit 1
    ),

    -- Materialized: joined in one step, all customers of the brand would be read.
    survivor as materialized (
        select coalesce(redirect.customer, named.subject) as subject
        from named
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
        subject as customer,
        id as customer_id,
        array(select linked.subject from linked order by linked.subject) as subjects,
        (select contacts.id from contacts order by is_bare, created_at, id limit 1) as contact_id,
        coalesce((select lake_brand.generation from lake_brand where lake_brand.brand_id = $1), 0) as generation,
        case
            when $3::boolean
                then array(
                    select distinct identifier.value
                    from linked
                    join identifier
                        on identifier.brand_id = $1
                        and identifier.kind = 'anonymous_id'
                        and identifier.subject = linked.subject
                    order by identifier.value
                )
        end as visitor_ids
    from found;
end
$$;

-- migrate:down
