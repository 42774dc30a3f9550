insert into fault (n, field, value, reason)
select n, 'customer_external_id', null, 'is missing, and so are email and phone'
from picked
where coalesce(customer_external_id, email, phone) is null and n not in (select n from fault);

insert into fault (n, field, value, reason)
select n, 'email', email, 'is not an email address'
from picked
join email on email.given = picked.email
where email.address is null and n not in (select n from fault);

insert into fault (n, field, value, reason)
select n, 'phone', phone, 'is not a phone number'
from picked
join phone on phone.given = picked.phone
where phone.number is null and n not in (select n from fault);

create table ready as
select
    picked.* exclude (fault), email.address, phone.number,
    floor(sum(1 / getvariable('chunk_size') + (coalesce(strlen(tags::varchar), 0) + coalesce(strlen(first_name), 0) + coalesce(strlen(last_name), 0)) / getvariable('chunk_bytes')) over (order by n rows unbounded preceding) - 1e-9)::integer as chunk
from picked
left join email on email.given = picked.email
left join phone on phone.given = picked.phone
where n not in (select n from fault);
