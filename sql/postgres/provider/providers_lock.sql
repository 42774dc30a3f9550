-- Providers of a brand are made one after the other, and so do their types get new names. Who waits here has to look in a
-- statement of its own: this one's snapshot is from before the wait.
select id from brand where id = $1 for no key update
