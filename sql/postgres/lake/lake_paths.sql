select path from lake_file
