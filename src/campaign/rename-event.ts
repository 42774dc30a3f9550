import type { Renamed } from '../connect/custom/definitions.ts'
import type { Statements } from '../op.ts'
import { isEventTypeField, renamedValue } from '../segment/rename-event.ts'
import type { CampaignDefinition } from './definition.ts'
import type { Filter } from './filter.ts'
import { definitionOf, type Held, type Stored, saveVersion } from './saved.ts'

/**
 * Gives an event type its new name in the campaigns that its provider's events start, and in filters of all, unless
 * another provider's type is still called so: each gets a next version. Runs that wait stay on theirs, and know the new
 * name. What was accepted under the old name and has started nothing yet is found by the note of the renaming.
 */
export async function renameEventInCampaigns(tx: Statements, renamed: Renamed): Promise<void> {
  await tx.run('campaigns_lock')
  for (const row of await tx.many<Stored<Held>>('campaigns_naming', [renamed.from])) {
    const campaign = { ...row, definition: definitionOf(row) }
    const definition = renamedIn(campaign.definition, renamed)
    if (definition !== campaign.definition) await saveVersion(tx, campaign, definition, renamed.by)
  }
  await tx.run('runs_rename', [renamed.from, renamed.to, renamed.providerId])
  await tx.run('event_rename_add', [renamed.definitionId, renamed.from])
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
  if (!isEventTypeField(filter.field)) return filter
  const value = renamedValue(filter.value, from, to)
  return value === filter.value ? filter : { ...filter, value }
}
