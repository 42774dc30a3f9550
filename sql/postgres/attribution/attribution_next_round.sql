-- What changed since a round began is looked at in the next. Not of one that came to be due ($2: since when it was) anew
-- while it was looked at: its window has changed.
update attribution_behind
set looked_below = round_below, round_below = null, done_to = null, failures = 0, due_at = now()
where brand_id = $1 and due_at = $2::text::timestamptz
