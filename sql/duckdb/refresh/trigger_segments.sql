-- Customers, not visitors, who became members of a segment by what they did or as time passed; one who absorbed another
-- customer, unless one of them was a member. $1, $2: after and until which generation, several of which may be of one
-- instant, and a later one of an earlier; $3: since when anybody waits for it; $4: since when merges were not searched;
-- $5: the segments, as JSON. A page: $9 rows after the subject $6, segment $7 and generation $8, which no later merge moves.
with awaited as (
    select segment, segment_id
    from segment_ids
    where list_contains($5::json::varchar[], segment_id)
),

gone as (
    select
        exited.segment,
        exited.generation,
        coalesce(redirect.customer, exited.customer) as customer
    from member_history as exited
    inner join awaited on awaited.segment = exited.segment
    left join subject_redirect as redirect on redirect.subject = exited.customer
    where
        exited.action = 'exited'
        and exited.generation > $1
        and exited.generation <= $2
),

-- The ledger is ahead of the lake, and a refresh behind it.
absorbing as (
    select distinct coalesce(redirect.customer, merges.to_subject) as customer
    from merges
    left join subject_redirect as redirect on redirect.subject = merges.to_subject
    left join customers_source as absorbed on absorbed.subject = merges.from_subject
    where
        merges.undone_at is null
        and merges.merged_at > $4::timestamp - interval 1 day
        and absorbed.provenance is distinct from 'pixel'
)

select
    member_history.customer as subject,
    awaited.segment_id,
    member_history.generation,
    customers.customer,
    customers.customer_id,
    max(member_history.changed_at) as at
from member_history
inner join awaited on awaited.segment = member_history.segment
left join subject_redirect as redirect on redirect.subject = member_history.customer
inner join customers on customers.customer = coalesce(redirect.customer, member_history.customer)
left join gone
    on gone.segment = member_history.segment
    and gone.generation = member_history.generation
    and gone.customer = customers.customer
left join absorbing on absorbing.customer = customers.customer
where
    member_history.action = 'entered'
    and customers.provenance <> 'pixel'
    and (
        member_history.reason in ('data_changed', 'window_elapsed')
        or (member_history.reason = 'merged' and absorbing.customer is not null and gone.customer is null)
    )
    and member_history.generation > $1
    and member_history.generation <= $2
    and member_history.changed_at > $3::timestamp
    and member_history.customer >= $6::bigint
    and (member_history.customer, awaited.segment_id, member_history.generation) > ($6::bigint, $7::varchar, $8::bigint)
group by all
order by subject, awaited.segment_id, member_history.generation
limit $9
