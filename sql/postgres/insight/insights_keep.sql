-- Topics that nobody writes about any more go, with their messages.
delete from conversation_insight where brand_id = $1 and id <> all($2::uuid[])
