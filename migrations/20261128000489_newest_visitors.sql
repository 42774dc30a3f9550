-- migrate:up

-- The visitors that a profile was, those of the merged included, the newest first: 100 at most, since a customer may have
-- any number. One after the other, whatever the statistics say: without any, all visitors of the brand were read for each.
create function newest_visitors(uuid, integer)
returns text[]
language sql
stable
strict
as $$
    select array(
        (
            select visitor.value
            from (
                select subject from subject_redirect
                where brand_id = $1 and customer = $2 and not deleted
                order by subject desc
                offset 0
            ) as absorbed
            cross join lateral (
                select kind, value from identifier
                where brand_id = $1 and identifier.subject = absorbed.subject
                offset 0
            ) as visitor
            where visitor.kind = 'anonymous_id'
            order by absorbed.subject desc
            limit 100
        )
        union all
        (
            select visitor.value
            from (select kind, value from identifier where brand_id = $1 and subject = $2 offset 0) as visitor
            where visitor.kind = 'anonymous_id'
            limit 100
        )
        limit 100
    )
$$;

-- As before; but of the visitors the newest.

-- The profile that an id names, or the one that it was merged into, with all ordinals that are theirs, their oldest
-- contact, and the newest generation of published results. An id is the public one, or the one that a sender of events
-- chose. $3: with what profiles go by beside their own columns: the contact and the newest visitors of any of the ordinals.
create or replace function in_brand_customer_found(uuid, text, boolean)
returns table (
    customer integer,
    customer_id text,
    subjects integer[],
    contact_id uuid,
    generation bigint,
    linked_contact_id uuid,
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

    linked_contacts as (
        select contact.id, contact.created_at, contact.email is null and contact.phone is null as is_bare
        from linked
        join contact on contact.brand_id = $1 and contact.subject = linked.subject
    ),

    contacts as (
        select id, created_at, is_bare from linked_contacts
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
        case when $3::boolean then (select linked_contacts.id from linked_contacts order by is_bare, created_at, id limit 1) end as linked_contact_id,
        case when $3 then newest_visitors($1, found.subject) end as visitor_ids
    from found;
end
$$;

-- migrate:down
