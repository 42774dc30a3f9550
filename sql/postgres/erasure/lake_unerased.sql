-- The same for the shared files.
select tick from lake_state where erasures = $1 for share
