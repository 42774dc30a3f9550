-- Locked as the runner and who takes messages lock them: before the contacts.
select id
from campaign_run
where brand_id = $1
    and (subject = any($2::integer[]) or contact_id = any(array(select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5))))
order by id
for update
