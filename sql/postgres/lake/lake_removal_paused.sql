select coalesce(removal_paused_until > now(), false) as paused from lake_state
