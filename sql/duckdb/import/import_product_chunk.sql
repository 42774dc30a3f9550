select
    to_json(list({
        'id': id, 'title': title, 'status': status, 'variants': variants, 'images': images, 'updated_at': updated_at::varchar || 'Z'
    } order by n))::varchar as rows,
    count(*) as count
from ready
where chunk = $1
