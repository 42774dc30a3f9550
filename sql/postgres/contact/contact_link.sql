-- The customer whose email or phone it has, as the server, the store or a webhook said. A customer has one contact with a
-- channel that is linked to them; others are found by their channels.
update contact
set subject = holder.subject, updated_at = now()
from (
    select coalesce(meant_by($1, 'email', $3), meant_by($1, 'phone', $4)) as subject
) as holder
where
    contact.brand_id = $1
    and contact.id = $2
    and contact.subject is null
    and holder.subject is not null
    and not exists (
        select from contact as other
        where other.brand_id = $1 and other.subject = holder.subject and (other.email is not null or other.phone is not null)
    )
