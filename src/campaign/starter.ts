import { v7 } from 'uuid'
import { isObject } from '../event/exact.ts'
import type { Statements } from '../op.ts'
import type { CampaignDefinition } from './definition.ts'
import { factsHold, savedFilters } from './filter.ts'
import type { Occurrence } from './occurrence.ts'
import { TRIGGERS } from './trigger.ts'

/** An active campaign, as what happens finds it. */
export interface Triggered {
  id: string
  version: number
  trigger_event: string
  provider_id: string | null
  /** Since when it awaits the trigger that it has. */
  awaits_since: Date
  /** Other names that its event type had. */
  formerly: readonly { definition_id: string; type: string; until: string }[]
  definition: Pick<CampaignDefinition, 'filters' | 'starts_at' | 'ends_at'>
}

/** Runs of one statement. */
const ROWS = 2_000

/**
 * Makes a run for each occurrence and campaign that starts at it, within a transaction of the brand; those that were
 * made before stay as they are. Resolves with how many there are now that were not.
 */
export async function startRuns(
  tx: Statements,
  occurrences: readonly Occurrence[],
  now: Date,
): Promise<number> {
  const triggers = [...new Set(occurrences.map(({ trigger }) => trigger))]
  if (triggers.length === 0) return 0
  const campaigns = await campaignsTriggered(tx, triggers)
  const starts = campaigns.flatMap((campaign) =>
    occurrences
      .filter((occurrence) => isStart(campaign, occurrence))
      .map((occurrence) => ({ campaign, occurrence })),
  )
  let made = 0
  for (let at = 0; at < starts.length; at += ROWS) {
    const some = starts.slice(at, at + ROWS)
    made += await tx.run('runs_start', [
      now,
      some.map(() => v7()),
      some.map(({ campaign }) => campaign.id),
      some.map(({ campaign }) => campaign.version),
      some.map(({ occurrence }) => occurrence.key),
      some.map(({ occurrence }) => occurrence.subject),
      some.map(({ campaign }) => campaign.trigger_event),
      some.map(({ occurrence }) => occurrence.eventId),
      some.map(({ occurrence }) => occurrence.source.kind),
      some.map(({ occurrence }) => occurrence.source.id),
      some.map(({ occurrence }) => occurrence.at.toISOString()),
      some.map(({ occurrence }) => JSON.stringify(keptFacts(occurrence.facts))),
    ])
  }
  return made
}

/** Those that start at one of these triggers. */
export const campaignsTriggered = (
  db: Pick<Statements, 'many'>,
  triggers: readonly string[],
): Promise<Triggered[]> => db.many<Triggered>('campaigns_triggered', [triggers])

/** What happened before the campaign was turned on or got its trigger, or outside of its time, starts nothing. */
function isStart(campaign: Triggered, occurrence: Occurrence): boolean {
  const { definition, provider_id, awaits_since } = campaign
  const { trigger, providerId, at, facts } = occurrence
  if (at < awaits_since) return false
  if (campaign.trigger_event !== trigger && !isFormer(campaign, occurrence)) return false
  if (providerId !== null && provider_id !== providerId) return false
  if (definition.starts_at !== null && at < new Date(definition.starts_at)) return false
  if (definition.ends_at !== null && at > new Date(definition.ends_at)) return false
  // Of other segments there is no journey to tell.
  if (trigger !== 'segment_entered') return true
  return isOfSegment(campaign, facts, at)
}

/** Whether the campaign names the segment that was entered. */
export const isOfSegment = ({ definition }: Triggered, facts: Occurrence['facts'], at: Date): boolean =>
  factsHold(savedFilters(definition.filters, TRIGGERS.segment_entered.facts), facts, at)

/** What was told of under the old name of an event type before that was renamed. */
const isFormer = ({ formerly }: Triggered, { trigger, definitionId, at }: Occurrence): boolean =>
  formerly.some(
    ({ type, definition_id, until }) =>
      type === trigger && (definitionId === null ? at <= new Date(until) : definition_id === definitionId),
  )

const MOST_FACTS = 200
const MOST_LISTED = 100
const LONGEST_FACT = 2_000

type Plain = string | number | boolean
type Facts = Record<string, unknown>

/** Of what an event carries the plain values, lists of them, and items: what filters and messages can say. */
function keptFacts(given: Readonly<Facts>): Facts {
  const kept = Object.entries(given).flatMap(([name, value]): [string, unknown][] => {
    if (isPlain(value)) return [[name, value]]
    if (!Array.isArray(value)) return []
    const list = value.slice(0, MOST_LISTED)
    if (name !== 'items') return list.every(isPlain) ? [[name, list]] : []
    return [[name, list.flatMap((item) => (isObject(item) ? [plainOnes(item)] : []))]]
  })
  return Object.fromEntries(kept.slice(0, MOST_FACTS))
}

const isPlain = (value: unknown): value is Plain =>
  typeof value === 'number' ||
  typeof value === 'boolean' ||
  (typeof value === 'string' && value.length <= LONGEST_FACT)

const plainOnes = (item: Facts): Facts =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => isPlain(value)))
