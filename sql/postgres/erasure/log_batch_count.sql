select count(*) as batches from event_log
