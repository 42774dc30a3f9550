delete from served_generation where replaced_at < now() - make_interval(hours => $1)
