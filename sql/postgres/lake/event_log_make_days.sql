call event_log_days($1::text::date, $1::text::date)
