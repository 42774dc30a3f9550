-- A record that does not say when it was written may be of any time.
select
    to_json(list({
        'email': address, 'phone': number, 'first_name': first_name, 'last_name': last_name, 'tags': tags,
        'created_at': created_at::varchar || 'Z', 'updated_at': updated_at::varchar || 'Z'
    } order by n))::varchar as rows,
    to_json(list([customer_external_id, email, phone, epoch_ms(coalesce(created_at, updated_at))::varchar, null, epoch_ms(coalesce(updated_at, created_at, timestamp 'epoch'))::varchar] order by n))::varchar as identities,
    case when count(coalesce(email_consent, sms_consent)) > 0 then to_json(list([
        {'channel': 'email', 'state': email_consent, 'address': address, 'at': email_consent_at::varchar || 'Z'},
        {'channel': 'sms', 'state': sms_consent, 'address': number, 'at': sms_consent_at::varchar || 'Z'}
    ] order by n))::varchar end as consents,
    count(*) as count
from ready
where chunk = $1
