select path from lake_file where retired_at is null limit 5
