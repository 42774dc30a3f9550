-- Whose a refund is that names an order, the order says.
select
    to_json(list({
        'external_id': external_id, 'order_external_id': order_external_id, 'currency_code': currency_code,
        'total': total::varchar, 'created_at': created_at::varchar || 'Z'
    } order by n))::varchar as rows,
    to_json(list(
        case
            when order_external_id is null then [customer_external_id, email, phone, epoch_ms(created_at)::varchar]
            else [null, null, null, null]
        end
        order by n
    ))::varchar as identities,
    count(*) as count
from ready
where chunk = $1
