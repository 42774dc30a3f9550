delete from rate_limit where full_at < now()
