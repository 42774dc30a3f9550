-- Between two tables the first is written to a disk that may be slow.
set local idle_in_transaction_session_timeout = 0
