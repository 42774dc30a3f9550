-- Contacts ($2) show what was said last. Without a join: of a brand that is newer than the statistics the planner expects one
-- row, and would go through all of its contacts for each of the given ones.
update contact
set sms_consent = consent_now($1, id, 'sms'), email_consent = consent_now($1, id, 'email'), updated_at = now()
where
    brand_id = $1
    and id = any($2::uuid[])
    and (sms_consent, email_consent) is distinct from (consent_now($1, id, 'sms'), consent_now($1, id, 'email'))
