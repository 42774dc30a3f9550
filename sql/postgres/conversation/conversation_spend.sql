-- Of the budget of the agent.
update conversation
set agent_drafts = agent_drafts + $3, agent_tokens = agent_tokens + $4, updated_at = $5
where brand_id = $1 and id = $2
