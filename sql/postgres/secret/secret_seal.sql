update secret set value = $2, sealed = true where name = $1 and not sealed
