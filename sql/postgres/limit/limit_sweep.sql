-- No bucket is full again later than in a few minutes, but for one from before the clock was set back.
delete from rate_limit where full_at < now() or full_at > now() + interval '5 minutes'
