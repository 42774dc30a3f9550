-- Ids are UUIDs of version 7: the newest contacts have the greatest ones.
select * from contact_shown
where brand_id = $1 and ($2::uuid is null or id < $2::uuid)
order by id desc
limit $3
