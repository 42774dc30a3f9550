-- Who an identifier belongs to now, through a merge.
select coalesce(redirect.customer, held.subject) as subject
from (
    select subject from meant_by($1, $2, $3) as subject where subject is not null
    union all
    select subject from customer where brand_id = $1 and id = $3 and $2 = 'profile_id' and erased_at is null
) as held
left join subject_redirect as redirect
    on redirect.brand_id = $1 and redirect.subject = held.subject and not redirect.deleted
limit 1
