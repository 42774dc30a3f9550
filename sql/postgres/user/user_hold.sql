-- Until the transaction ends nobody makes or ends a membership of the user.
select id
from app_user
where id = $1
for update
