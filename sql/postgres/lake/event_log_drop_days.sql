call event_log_drop_before($1::text::date)
