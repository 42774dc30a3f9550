delete from server_process where id = $1
