-- Not one that came to be due ($2: since when it was) anew while it was looked at: its window has changed.
delete from attribution_behind
where brand_id = $1 and due_at = $2::text::timestamptz
