-- migrate:up

-- Members that the last evaluation found, from which the next one counts on; `member_count` is who of them is shown.
alter table segment add column evaluated_count bigint not null default 0;
update segment set evaluated_count = member_count;

-- migrate:down
