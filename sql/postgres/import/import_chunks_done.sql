select chunk, refused
from import_chunk
where brand_id = $1 and source = $2
