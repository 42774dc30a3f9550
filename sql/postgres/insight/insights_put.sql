-- $2: ids, $3: topics, $4: keywords as JSON lists, $5: what they were named by, as JSON lists or null.
insert into conversation_insight as known (brand_id, id, topic, keywords, named_by)
select
    $1, id, topic, array(select json_array_elements_text(keywords::json)),
    case when named_by is not null then array(select json_array_elements_text(named_by::json)) end
from unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) as given (id, topic, keywords, named_by)
on conflict (brand_id, id) do update
set topic = excluded.topic, keywords = excluded.keywords, named_by = excluded.named_by, updated_at = now()
where (known.topic, known.keywords, known.named_by) is distinct from (excluded.topic, excluded.keywords, excluded.named_by)
