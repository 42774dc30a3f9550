-- A customer and the profiles merged into it.
select subject, id
from customer
where brand_id = $1
    and erased_at is null
    and (
        subject = $2
        or subject in (select subject from subject_redirect where brand_id = $1 and customer = $2 and not deleted)
    )
