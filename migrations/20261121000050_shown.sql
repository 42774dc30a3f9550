-- migrate:up

-- A contact as callers see it, with the id of the customer who has it now; read with the rights of whoever asks.
create view contact_shown with (security_invoker = true) as
select
    contact.brand_id,
    contact.id,
    contact.email,
    contact.phone,
    contact.first_name,
    contact.last_name,
    customer.id as customer_id,
    contact.sms_consent,
    contact.email_consent,
    contact.created_at,
    contact.updated_at
from contact
left join subject_redirect as redirect
    on redirect.brand_id = contact.brand_id and redirect.subject = contact.subject and not redirect.deleted
left join customer
    on customer.brand_id = contact.brand_id
    and customer.subject = coalesce(redirect.customer, contact.subject)
    and not customer.deleted;

-- A row of the ledger of merges with the ids of both customers, and of whoever answers for them now.
create view merge_shown with (security_invoker = true) as
select
    merge.brand_id,
    merge.id,
    merge.merged_at,
    merge.from_subject,
    merge.to_subject,
    merge.evidence,
    merge.undone_at,
    merge.undone_by,
    merge.barred,
    merge.deleted,
    source.id as from_id,
    target.id as to_id,
    survivor.id as survivor_id,
    case when merge.undone_at is null then survivor.id end as customer_id,
    source.provenance = 'pixel' as is_visitor
from merge
join customer as source on source.brand_id = merge.brand_id and source.subject = merge.from_subject
join customer as target on target.brand_id = merge.brand_id and target.subject = merge.to_subject
left join subject_redirect as redirect
    on redirect.brand_id = merge.brand_id and redirect.subject = merge.to_subject and not redirect.deleted
join customer as survivor
    on survivor.brand_id = merge.brand_id and survivor.subject = coalesce(redirect.customer, merge.to_subject);

grant select on contact_shown, merge_shown to recoup_app;

-- migrate:down
