-- Notes the topics that the store does not send; whether they are others than before.
update store_connection
set refused_topics = $2
where brand_id = $1 and refused_topics is distinct from $2::text[]
returning refused_topics
