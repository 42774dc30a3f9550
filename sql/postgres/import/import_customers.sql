-- Customer records of one chunk ($2: JSON rows, $3: their subjects, $4: the store says so, no file), after assignSubjects made
-- them. The last row of a customer wins; empty fields leave what is known. Lists the customers that this transaction made or
-- changed. A row describes its own profile, merged or not, so that a merge can be undone. One that does not say when it was
-- written may be of any time: it changes no record of the store, and makes none newer. What a file dates ahead keeps out no
-- word of the store.
with given as materialized (
    select distinct on (sent.subject)
        $1::uuid as brand_id, sent.subject, sent.email, sent.phone, sent.first_name,
        sent.last_name, sent.tags, sent.created_at, sent.updated_at
    from rows from (
        json_to_recordset($2::text::json) as (
            email text, phone text, first_name text, last_name text, tags text[], created_at timestamptz, updated_at timestamptz
        ),
        unnest($3::integer[])
    ) with ordinality as sent (email, phone, first_name, last_name, tags, created_at, updated_at, subject, position)
    where sent.subject <> 0
    order by sent.subject, sent.updated_at desc nulls last, sent.position desc
),

told as materialized (
    select customer.subject, version.removed
    from given
    join customer on customer.brand_id = given.brand_id and customer.subject = given.subject
    join store_version as version
        on version.brand_id = given.brand_id and version.kind = 'customer'
        and version.external_id = customer.store_customer_id
),

described as (
    update customer
    set
        email = coalesce(given.email, customer.email),
        phone = coalesce(given.phone, customer.phone),
        first_name = coalesce(given.first_name, customer.first_name),
        last_name = coalesce(given.last_name, customer.last_name),
        tags = coalesce(given.tags, customer.tags),
        created_at = least(customer.created_at, given.created_at),
        -- Without a record it bears the time of its making; what the version before wrote shows by its times alone.
        updated_at = case
            when given.updated_at is not null then given.updated_at
            when customer.has_record or customer.updated_at <> customer.created_at then customer.updated_at
            else least(customer.created_at, given.created_at)
        end,
        changed_at = case when given.updated_at is null then now() end,
        has_record = customer.has_record or given.updated_at is not null,
        deleted = coalesce(told.removed, false)
    from given
    left join told using (subject)
    where
        customer.brand_id = given.brand_id
        and customer.subject = given.subject
        and case
            when given.updated_at is null then told.subject is null
            else given.updated_at >= customer.updated_at
                or $4::boolean and customer.updated_at > now()
                or not (customer.has_record or customer.updated_at <> customer.created_at)
        end
        and (
            customer.email, customer.phone, customer.first_name, customer.last_name, customer.tags, customer.created_at,
            customer.updated_at, customer.deleted
        ) is distinct from (
            coalesce(given.email, customer.email), coalesce(given.phone, customer.phone),
            coalesce(given.first_name, customer.first_name), coalesce(given.last_name, customer.last_name),
            coalesce(given.tags, customer.tags), least(customer.created_at, given.created_at),
            coalesce(given.updated_at, customer.updated_at), coalesce(told.removed, false)
        )
    returning customer.subject
),

-- Of the same record, written before it was noted that there is one: no change.
noted as (
    update customer
    set has_record = true, changed_at = null
    from given
    where
        customer.brand_id = given.brand_id
        and customer.subject = given.subject
        and customer.updated_at = given.updated_at
        and not customer.has_record
        and customer.subject not in (select subject from described)
)

select subject
from given
where subject in (select subject from described)
    or exists (
        select
        from customer
        where customer.brand_id = given.brand_id and customer.subject = given.subject and customer.xid = pg_current_xact_id()
    )
