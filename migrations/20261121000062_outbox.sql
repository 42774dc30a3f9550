-- migrate:up

alter table message
    -- The message that it answers: rules about messages that nobody asked for do not hold for it.
    add column answers uuid,
    -- Since when a channel that takes a message once has it in hand. A claim that ended then leaves it unknown whether
    -- the message was sent.
    add column begun_at timestamptz;

-- Channels take turns, however many messages wait on one.
drop index message_due;
create index message_due on message (brand_id, channel, next_attempt_at)
where status = 'queued' and next_attempt_at is not null;

-- When the channel may send next, so that all workers together keep its rate.
alter table message_channel add column next_send_at timestamptz not null default '-infinity';

-- migrate:down
