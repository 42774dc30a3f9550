-- Its sessions and grants go with it.
delete from membership
where brand_id = $1 and user_id = $2
