-- What others were named with as well is theirs by now (identifiers_hand_on).
delete from identifier
where brand_id = $1 and subject = any($2::integer[])
