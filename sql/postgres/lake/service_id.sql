select service_id from lake_state
