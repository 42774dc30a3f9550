-- Customers who became members of a segment by what they did or as time passed. $1, $2: after and until when.
select
    segment_ids.segment_id,
    member_history.generation,
    customers.customer,
    customers.customer_id,
    max(member_history.changed_at) as at
from member_history
inner join segment_ids using (segment)
left join subject_redirect as redirect on redirect.subject = member_history.customer
inner join customers on customers.customer = coalesce(redirect.customer, member_history.customer)
where
    member_history.action = 'entered'
    and member_history.reason in ('data_changed', 'window_elapsed')
    and member_history.changed_at > $1::timestamp
    and member_history.changed_at <= $2::timestamp
group by all
