call built_in_segments($1)
