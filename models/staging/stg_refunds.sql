-- what: refunds up to as_of; one that names no order counts against the customer that it belongs to now
-- grain: refund_id
-- refresh: at every read
-- from: refunds
select
    refund.refund_id,
    refund.external_id,
    refund.order_external_id,
    coalesce(redirect.customer, refund.subject) as customer,
    refund.currency_code,
    refund.total,
    refund.created_at
from refunds as refund
cross join params
left join subject_redirect as redirect using (subject)
where refund.created_at <= params.as_of
