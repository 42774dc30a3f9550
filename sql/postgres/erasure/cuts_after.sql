-- Of these brands, the cuts that something of a transaction came before, first to last.
select brand_id, cut_below::text as cut_below, erased_at
from erasure
where brand_id = any($1::uuid[]) and cut_below > $2::text::xid8
order by cut_below
