import type { CampaignDefinition } from './definition.ts'
import { availableTo } from './definition.ts'
import { minutesOf } from './duration.ts'
import type { Campaign, CampaignRow } from './saved.ts'
import type { Start } from './start.ts'
import { tokenOf, variablesOf } from './variable.ts'

/** A campaign of a list. All but an active one are paused. */
export const campaignItem = ({ id, name, type, status }: CampaignRow) => ({
  id,
  name,
  type,
  status,
  is_paused: status !== 'active',
})

/** Tokens that messages of a campaign can say. */
const variablesFor = (start: Start, discountId: string | null) =>
  variablesOf(availableTo(start, discountId)).map(({ name, label, hint }) => ({
    token: tokenOf(name),
    label,
    hint,
  }))

/** What of a campaign its creation answers. */
export const campaignDraft = (campaign: Campaign, start: Start, baseUrl: string) => ({
  ...campaignItem(campaign),
  draft: campaign.status === 'draft',
  editor_url: `${baseUrl}/campaigns/${campaign.id}`,
  trigger: { kind: start.kind, event: start.event, label: start.label },
  variables: variablesFor(start, campaign.definition.discount_id),
  ...settingsOf(campaign.definition),
})

function settingsOf(definition: CampaignDefinition) {
  const { action_type, wait, trigger_delay, cart_link, discount_id, messages, split, starts_at, ends_at } =
    definition
  return {
    action_type,
    wait,
    trigger_delay: { ...trigger_delay, minutes: minutesOf(trigger_delay) },
    cart_link,
    discount: discount_id === null ? null : { id: discount_id },
    messages,
    split,
    starts_at,
    ends_at,
  }
}

/** All of a campaign. */
export const wholeCampaign = (campaign: Campaign, start: Start, baseUrl: string) => ({
  ...campaignDraft(campaign, start, baseUrl),
  provider_id: campaign.definition.provider_id,
  filters: campaign.definition.filters,
  version: campaign.version,
  created_by: campaign.created_by,
  created_at: campaign.created_at.toISOString(),
  updated_at: campaign.updated_at.toISOString(),
})
