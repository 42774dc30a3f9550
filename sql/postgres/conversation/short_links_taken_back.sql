-- Of all opt-out links that whom a conversation ($2) is with has had on its channel.
update short_link as link set taken_back = $3
from conversation as asked
join conversation as theirs
    on theirs.brand_id = asked.brand_id and theirs.contact_id = asked.contact_id and theirs.channel = asked.channel
where
    asked.brand_id = $1
    and asked.id = $2
    and link.brand_id = theirs.brand_id
    and link.conversation_id = theirs.id
    and link.kind = 'opt_out'
    and link.taken_back <> $3
