select looked_below::text, pg_snapshot_xmin(pg_current_snapshot())::text as horizon
from attribution_state
