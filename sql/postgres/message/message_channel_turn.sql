-- The next second of channel $2 is the caller's: so many messages may leave in it. No row: another worker's second is on.
update message_channel
set next_send_at = $3::timestamptz + interval '1 second'
where brand_id = $1 and channel = $2 and next_send_at <= $3
returning messages_per_second
