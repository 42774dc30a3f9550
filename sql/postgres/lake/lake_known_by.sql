-- By what the lake folder is known to be this service's: its owner, and some of the files that count.
select
    service_id,
    array(select path from lake_file where retired_at is null limit 5) as some
from lake_state
