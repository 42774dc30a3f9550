-- migrate:up

-- Who answers for a profile now. `offset 0` makes columns of what is asked and answered: behind a table's policy Postgres
-- looks up nothing by an expression like `coalesce`, which might tell of hidden rows, and reads all rows of the brand.
create function survivor_of(brand uuid, profile integer)
returns table (subject integer)
language sql stable
begin atomic
    select coalesce((
        select redirect.customer
        from subject_redirect as redirect
        where redirect.brand_id = $1 and redirect.subject = given.subject and not redirect.deleted
    ), given.subject)
    from (select $2 as subject offset 0) as given
    offset 0;
end;

create or replace function customer_of_contact(brand uuid, contact_subject integer, own_first_name text, own_last_name text)
returns table (customer_id text, first_name text, last_name text)
language sql stable
begin atomic
    select
        customer.id,
        case when $3 is null and $4 is null then customer.first_name else $3 end,
        case when $3 is null and $4 is null then customer.last_name else $4 end
    from survivor_of($1, $2) as survivor
    left join customer on customer.brand_id = $1 and customer.subject = survivor.subject and not customer.deleted;
end;

create or replace view merge_shown with (security_invoker = true) as
select
    merge.brand_id,
    merge.id,
    merge.merged_at,
    merge.from_subject,
    merge.to_subject,
    merge.evidence,
    merge.undone_at,
    merge.undone_by,
    merge.barred,
    merge.deleted,
    source.id as from_id,
    target.id as to_id,
    survivor.id as survivor_id,
    case when merge.undone_at is null then survivor.id end as customer_id,
    source.provenance = 'pixel' as is_visitor
from merge
join customer as source on source.brand_id = merge.brand_id and source.subject = merge.from_subject
join customer as target on target.brand_id = merge.brand_id and target.subject = merge.to_subject
cross join lateral survivor_of(merge.brand_id, merge.to_subject) as answers
join customer as survivor on survivor.brand_id = merge.brand_id and survivor.subject = answers.subject;

-- The store's id of the customer whose a contact is, where its email or phone alone would name who had it before.
create or replace function owner_to_tell(uuid, uuid) returns text
language sql stable strict
as $$
    select profile.store_customer_id
    from contact
    cross join lateral survivor_of($1, contact.subject) as survivor
    join customer as profile on profile.brand_id = $1 and profile.subject = survivor.subject and not profile.deleted
    where
        contact.brand_id = $1
        and contact.id = $2
        and exists (
            select
            from identifier
            cross join lateral survivor_of($1, identifier.subject) as other
            where
                identifier.brand_id = $1
                and (
                    (identifier.kind = 'email' and identifier.value = contact.email)
                    or (identifier.kind = 'phone' and identifier.value = contact.phone)
                )
                and other.subject <> profile.subject
        )
$$;

-- When somebody first bought after an instant, or what a checkout became: an order that is cancelled or a test is none, and
-- neither is the one that is told of itself, which a store dates after its payment. Each way by itself: of one condition
-- with `or` no index answers both.
create or replace function bought_since(
    brand uuid, subject integer, source_kind text, source_id text, since timestamptz
)
returns timestamptz
language sql stable
begin atomic
    select min(placed.created_at)
    from (
        select own.created_at, own.deleted, own.test, own.state
        from subjects_of_person(brand, bought_since.subject) as theirs (subject)
        cross join lateral (
            select external_id, created_at, deleted, test, state
            from store_order
            where store_order.brand_id = (select brand) and store_order.subject = theirs.subject
            offset 0
        ) as own
        where own.created_at > since and (source_kind <> 'order' or own.external_id <> source_id)
        union all
        select created_at, deleted, test, state
        from store_order
        where source_kind = 'checkout' and brand_id = (select brand) and checkout_external_id = source_id
    ) as placed
    where not placed.deleted and not placed.test and placed.state <> 'cancelled';
end;

-- migrate:down
