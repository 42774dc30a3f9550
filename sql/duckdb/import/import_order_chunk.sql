-- The orders of a chunk as JSON for Postgres, and whom they name.
select
    to_json(list({
        'external_id': external_id, 'number': coalesce(number, external_id), 'email': lower(email), 'phone': coalesce(phone.number, phone),
        'state': state, 'billing_status': billing_status, 'currency_code': coalesce(currency_code, getvariable('currency_code')),
        'subtotal': subtotal::varchar, 'discount_total': coalesce(discount_total, 0)::varchar, 'total': total::varchar,
        'refunded_total': refunded_total::varchar, 'discount_codes': coalesce(discount_codes, []),
        'lines': coalesce(lines, []), 'test': coalesce(test, false), 'created_at': created_at::varchar || 'Z',
        'updated_at': coalesce(updated_at, created_at)::varchar || 'Z', 'cancelled_at': cancelled_at::varchar || 'Z',
        'recovered_at': recovered_at::varchar || 'Z'
    } order by position))::varchar as rows,
    to_json(list([customer_external_id, email, phone, epoch_ms(created_at)::varchar] order by position))::varchar as identities,
    count(*) as count
from ready
left join phone on phone.given = ready.phone
where chunk = $1
