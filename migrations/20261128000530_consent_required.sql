-- migrate:up

-- Whom campaigns may message over a channel: everybody who has not refused, or only who agreed.
alter table message_policy
add column sms_consent text not null default 'not-refused' check (sms_consent in ('required', 'not-refused')),
add column email_consent text not null default 'not-refused' check (email_consent in ('required', 'not-refused'));

-- migrate:down
