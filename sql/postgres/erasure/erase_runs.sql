-- One that waits ends here: there is nobody to go on with.
update campaign_run
set
    contact_id = null, subject = null, facts = '{}', updated_at = now(),
    state = 'ended', outcome = coalesce(outcome, 'stopped'), ended_at = coalesce(ended_at, now())
where brand_id = $1
    and (subject = any($2::integer[]) or contact_id in (select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5)))
