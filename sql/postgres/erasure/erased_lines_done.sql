delete from erased_line where batch_id = $1 and line = any($2::integer[])
