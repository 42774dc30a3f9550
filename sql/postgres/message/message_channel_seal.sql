update message_channel set secret = $3, updated_at = now() where brand_id = $1 and channel = $2
