-- Segments of a brand are made one after the other: their ordinals are dense.
select id from brand where id = $1 for no key update
