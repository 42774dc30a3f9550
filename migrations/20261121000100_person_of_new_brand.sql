-- migrate:up

-- The brand is asked for by a SELECT, so that its value is not known when a statement is planned. Of a brand that the
-- statistics of a table do not have yet one row is expected: then an index on (brand_id, subject) is no better than any
-- other that begins with the brand, and each person was looked for among all redirects and all contacts of the brand. 400
-- merges of a brand's first import took 31 s, 11,000 a transaction of hours that every brand's tick waited for.
create or replace function contacts_of_person(brand uuid, person integer) returns setof uuid
language sql stable
begin atomic
    with survivor as (
        select coalesce(
            (
                select redirect.customer from subject_redirect as redirect
                where redirect.brand_id = (select $1) and redirect.subject = $2 and not redirect.deleted
            ),
            $2
        ) as customer
    ),

    theirs as (
        select customer as subject from survivor
        union all
        select redirect.subject
        from survivor
        join subject_redirect as redirect
            on redirect.brand_id = (select $1) and redirect.customer = survivor.customer and not redirect.deleted
    )

    select contact.id from theirs join contact on contact.brand_id = (select $1) and contact.subject = theirs.subject;
end;

-- migrate:down
