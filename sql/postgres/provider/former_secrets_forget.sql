-- Of whatever brand: those that are taken no more.
update provider
set former_secret = null, former_until = null
where former_until <= now()
