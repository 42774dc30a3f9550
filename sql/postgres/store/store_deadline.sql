-- The platform gives up waiting after five seconds: rather say so in time, and have it sent again.
select set_config('statement_timeout', $2::text, true), set_config('lock_timeout', $2::text, true), $1::uuid
