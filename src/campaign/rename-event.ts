import type { Renamed } from '../connect/custom/definitions.ts'
import type { Statements } from '../op.ts'
import type { CampaignDefinition } from './definition.ts'
import type { Filter } from './filter.ts'
import { type Campaign, saveVersion } from './saved.ts'

/**
 * Gives an event type its new name in the campaigns that its provider's events start, and in filters of all, unless
 * another provider's type is still called so: each gets a next version. Runs that wait stay on theirs, and know the new name.
 */
export async function renameEventInCampaigns(tx: Statements, renamed: Renamed): Promise<void> {
  for (const campaign of await tx.many<Campaign>('campaigns_naming', [renamed.from])) {
    const definition = renamedIn(campaign.definition, renamed)
    if (definition !== campaign.definition) await saveVersion(tx, campaign, definition, renamed.by)
  }
  const names = [renamed.from, renamed.to, renamed.providerId]
  await tx.run('runs_rename', names)
  await tx.run('trigger_events_rename', names)
}

function renamedIn(
  definition: CampaignDefinition,
  { from, to, providerId, isStillUsed }: Renamed,
): CampaignDefinition {
  const isTrigger = definition.trigger_event === from && definition.provider_id === providerId
  const filters = isStillUsed
    ? definition.filters
    : definition.filters.map((one) => renamedFilter(one, from, to))
  const isFilter = filters.some((filter, index) => filter !== definition.filters[index])
  if (!isTrigger && !isFilter) return definition
  return { ...definition, ...(isTrigger && { trigger_event: to }), filters }
}

function renamedFilter(filter: Filter, from: string, to: string): Filter {
  const { field, value } = filter
  if (!field.endsWith('.event_kind')) return filter
  if (value === from) return { ...filter, value: to }
  if (!Array.isArray(value) || !value.includes(from)) return filter
  return { ...filter, value: [...new Set(value.map((one) => (one === from ? to : one)))] }
}
