-- Held until the publish: work on files from before an erasure must not be published after it.
select brand_id from lake_brand where brand_id = $1 and erasures = $2 for share
