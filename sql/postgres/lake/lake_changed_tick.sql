-- The tick that last brought something of the brand into the lake.
select changed_tick from lake_brand where brand_id = $1
