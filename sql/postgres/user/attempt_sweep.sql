delete from sign_in_attempt
where failed_at < now() - interval '1 day'
