select
    to_json(list({
        'external_id': external_id, 'status': coalesce(status, case when cancelled_at is not null then 'cancelled' else 'active' end),
        'product_id': product_id, 'title': title, 'interval_unit': interval_unit, 'interval_count': interval_count,
        'price': price::varchar, 'currency_code': coalesce(currency_code, getvariable('currency_code')),
        'started_at': started_at::varchar || 'Z', 'next_billing_at': next_billing_at::varchar || 'Z',
        'cancelled_at': cancelled_at::varchar || 'Z',
        'updated_at': updated_at::varchar || 'Z'
    } order by n))::varchar as rows,
    to_json(list([customer_external_id, email, phone, epoch_ms(coalesce(started_at, updated_at))::varchar, null, epoch_ms(coalesce(started_at, updated_at, timestamp 'epoch'))::varchar] order by n))::varchar as identities,
    count(*) as count
from ready
where chunk = $1
