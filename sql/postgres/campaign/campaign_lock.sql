-- What belongs to it is read by a later statement: one that waited here sees the row anew, and what it joins as it was.
select id from campaign where brand_id = $1 and id = $2 for update
