select count(*) as batches, min(received_at) as oldest from event_log
