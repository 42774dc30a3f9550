call event_log_days((now() at time zone 'UTC')::date, (now() at time zone 'UTC')::date + $1::integer)
