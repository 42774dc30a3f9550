select pg_notify('recoup_access_passed', $1::text || ' ' || $2::text)
