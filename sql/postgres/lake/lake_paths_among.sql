select path from lake_file where path = any($1::text[])
