-- A customer and the profiles merged into it.
select subject, id
from customer
where brand_id = $1
    and erased_at is null
    -- As an array, by which the customers are looked up: joined by `or` with the subquery, all of the brand were read.
    and subject = any($2::integer || array(select subject from subject_redirect where brand_id = $1 and customer = $2 and not deleted))
