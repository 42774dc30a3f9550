select tick, exported_below::text, erasures, attempted_bytes, pg_snapshot_xmin(pg_current_snapshot())::text as horizon
from lake_state
