-- One look at the index: whether anything is due.
select due_at from campaign_run where state = 'waiting' order by due_at limit 1
