-- The try that was counted beforehand did not fail; $2: nor do those before it count any more.
update sign_in_attempt
set failures = case when $2::boolean then 0 else greatest(0, failures - 1) end, blocked_until = now()
where key = $1
