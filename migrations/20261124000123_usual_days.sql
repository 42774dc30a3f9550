-- migrate:up

-- The brand's median of the days between orders when they were searched last: who is at risk now and was not by it became so
-- since.
alter table trigger_cursor add column usual_days double precision;

-- migrate:down
