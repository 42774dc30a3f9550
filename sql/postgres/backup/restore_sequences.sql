select setval(pg_get_serial_sequence('lake_file', 'id'), greatest((select max(id) from lake_file), 1))
