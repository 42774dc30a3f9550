-- migrate:up

-- A gateway that took an attempt and gave no answer may have sent the message; where another one took its place since, nobody
-- can ask it again.
alter table message
    add column may_have_arrived boolean not null default false,
    add column gateway_replaced boolean not null default false;

-- migrate:down

alter table message drop column gateway_replaced, drop column may_have_arrived;
