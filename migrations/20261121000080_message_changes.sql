-- migrate:up

-- What a message is to others changes its xid; who sends it at the moment, and when it is tried next, is nobody else's
-- business: the lake and attribution are not told of it, and no index but message_due changes by it.
drop trigger set_xid on message;
create trigger set_xid before insert on message for each row execute function set_xid();
create trigger set_xid_changed before update of
    conversation_id, contact_id, direction, author, channel, headline, body, status, created_at, sent_at, delivered_at, deleted
on message for each row execute function set_xid();

-- migrate:down
