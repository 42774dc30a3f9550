-- migrate:up

-- Who has a contact now, and what it is called: by its own name, else by the customer's, which is not copied, so that it is
-- always that of today. First and last are taken together: of two sources they can be two people's.
create function customer_of_contact(brand uuid, contact_subject integer, own_first_name text, own_last_name text)
returns table (customer_id text, first_name text, last_name text)
language sql stable
begin atomic
    select
        customer.id,
        case when $3 is null and $4 is null then customer.first_name else $3 end,
        case when $3 is null and $4 is null then customer.last_name else $4 end
    from (select $1 as brand_id, $2 as subject) as given
    left join subject_redirect as redirect
        on redirect.brand_id = given.brand_id and redirect.subject = given.subject and not redirect.deleted
    left join customer
        on customer.brand_id = given.brand_id
        and customer.subject = coalesce(redirect.customer, given.subject)
        and not customer.deleted;
end;

create or replace view contact_shown with (security_invoker = true) as
select
    contact.brand_id,
    contact.id,
    contact.email,
    contact.phone,
    whose.first_name,
    whose.last_name,
    whose.customer_id,
    contact.sms_consent,
    contact.email_consent,
    contact.created_at,
    contact.updated_at
from contact
cross join lateral customer_of_contact(
    contact.brand_id, contact.subject, contact.first_name, contact.last_name
) as whose;

-- migrate:down
