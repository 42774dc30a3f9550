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

-- migrate:down
