-- migrate:up

-- What retention looks for, and what a brand's room is counted over.
create index dead_letter_failed on dead_letter (failed_at);
create index dead_letter_kept on dead_letter (brand_id, failed_at) where body <> '';

-- migrate:down
