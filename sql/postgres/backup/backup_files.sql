select path, encode(sha256, 'hex') as sha256, bytes
from lake_file
where retired_at is null
order by path
