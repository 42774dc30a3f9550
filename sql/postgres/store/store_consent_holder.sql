-- Who has no address yet, or none any more, may have spoken about one: that word is kept.
insert into contact (brand_id, id, subject)
select $1, $2, $3
where not exists (select from contact where brand_id = $1 and subject = $3)
