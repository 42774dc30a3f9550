-- migrate:up

-- How a run had ended before its contact wrote and it went on to answer: a purchase stays one, and what keeps it from answering
-- changes nothing.
alter table campaign_run add column former_outcome text;

-- migrate:down
