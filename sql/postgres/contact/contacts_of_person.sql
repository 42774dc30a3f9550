-- Contacts of a customer ($2: all of its profiles), and those of nobody that have one of its emails ($3) or phones ($4).
select id, email, phone
from contact
where
    brand_id = $1
    and (
        subject = any($2::integer[])
        or (subject is null and (email = any($3::text[]) or phone = any($4::text[])))
    )
order by created_at, id
