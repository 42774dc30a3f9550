-- Of runs $2 those that are due and nobody works on, locked until the transaction ends. $3: a claim that whoever asks may have on them, $4: now.
select id
from campaign_run
where
    brand_id = $1
    and id = any($2::uuid[])
    and state = 'waiting'
    and due_at <= $4::timestamptz
    and (claimed_until is null or claimed_until <= $4::timestamptz or claim = $3::uuid)
order by id
for update skip locked
