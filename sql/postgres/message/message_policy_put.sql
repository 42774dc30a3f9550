-- What is null stays as it is. With another window the orders of the brand are attributed anew, from the first one.
with anew as (
    insert into attribution_behind (brand_id, looked_below, failures)
    select $1, '0', 0
    where coalesce((select attribution_days from message_policy where brand_id = $1), 7) <> $6::integer
    on conflict (brand_id) do update
    set looked_below = '0', round_below = null, done_to = null, failures = 0, due_at = now()
)

insert into message_policy (
    brand_id, quiet_from, quiet_until, cap_messages, cap_days, attribution_days, sms_consent, email_consent
)
values (
    $1, coalesce($2::time, '21:00'), coalesce($3::time, '08:00'), coalesce($4::integer, 4), coalesce($5::integer, 7),
    coalesce($6::integer, 7), coalesce($7::text, 'not-refused'), coalesce($8::text, 'not-refused')
)
on conflict (brand_id) do update
set
    quiet_from = coalesce($2::time, message_policy.quiet_from),
    quiet_until = coalesce($3::time, message_policy.quiet_until),
    cap_messages = coalesce($4::integer, message_policy.cap_messages),
    cap_days = coalesce($5::integer, message_policy.cap_days),
    attribution_days = coalesce($6::integer, message_policy.attribution_days),
    sms_consent = coalesce($7::text, message_policy.sms_consent),
    email_consent = coalesce($8::text, message_policy.email_consent),
    updated_at = now()
