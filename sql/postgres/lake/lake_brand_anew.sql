-- Its turn comes, and nothing of before is carried on.
update lake_brand set results = results - 'recipe'
where brand_id = $1
