-- Brands that erased somebody lately: what killed work left there goes sooner than elsewhere.
select distinct brand_id from erasure where completed_at > now() - make_interval(hours => $1)
