select
    to_json(list({
        'external_id': external_id,
        'state': coalesce(state, case when completed_at is not null then 'completed' when abandoned_at is not null then 'abandoned' else 'open' end),
        'currency_code': coalesce(currency_code, getvariable('currency_code')), 'total': coalesce(total, 0)::varchar,
        'item_count': coalesce(item_count, 0), 'url': url, 'created_at': created_at::varchar || 'Z',
        'updated_at': coalesce(updated_at, completed_at, abandoned_at, created_at)::varchar || 'Z',
        'abandoned_at': abandoned_at::varchar || 'Z', 'completed_at': completed_at::varchar || 'Z'
    } order by n))::varchar as rows,
    to_json(list([customer_external_id, email, phone, epoch_ms(created_at)::varchar, anonymous_id] order by n))::varchar as identities,
    count(*) as count
from ready
where chunk = $1
