-- What is null stays as it is.
insert into message_policy (brand_id, quiet_from, quiet_until, cap_messages, cap_days, attribution_days)
values (
    $1, coalesce($2::time, '21:00'), coalesce($3::time, '08:00'), coalesce($4::integer, 4), coalesce($5::integer, 7),
    coalesce($6::integer, 7)
)
on conflict (brand_id) do update
set
    quiet_from = coalesce($2::time, message_policy.quiet_from),
    quiet_until = coalesce($3::time, message_policy.quiet_until),
    cap_messages = coalesce($4::integer, message_policy.cap_messages),
    cap_days = coalesce($5::integer, message_policy.cap_days),
    attribution_days = coalesce($6::integer, message_policy.attribution_days),
    updated_at = now()
