import type { Statements } from '../op.ts'
import { channelOf, type DueRun, type Replying } from './advance.ts'
import { Ahead } from './ahead.ts'
import type { CampaignDefinition } from './definition.ts'
import { type Filters, savedFilters, withMember } from './filter.ts'
import { type Recipient, recipientsOf } from './recipient.ts'
import { definitionOf } from './saved.ts'
import { savedStarts } from './start.ts'
import type { SourceKind } from './trigger.ts'

/** A run that somebody works on, locked. */
export interface HeldRun extends DueRun {
  version: number
  subject: number | null
  /** The customer of today. */
  customer: number | null
  trigger_event: string
  event_id: string | null
  source_kind: SourceKind
  source_id: string
  facts: Record<string, unknown>
  attempts: number
  is_active: boolean
  /** Of the step that is written next. */
  ordinal: number
  checkout_id: string | null
}

/** What says which version a run is judged by. */
type Versioned = Pick<HeldRun, 'campaign_id' | 'version' | 'trigger_event' | 'source_kind' | 'source_id'>

export interface Version {
  /** Of this version of this campaign, and of the segment that was entered. */
  key: string
  definition: CampaignDefinition
  filters: Filters
}

/** What runs are judged by beside themselves. */
export interface Known {
  versionOf(run: Versioned): Version
  /** By run. */
  recipients: ReadonlyMap<string, Recipient>
  /** Of runs that are about to answer. */
  replies: ReadonlyMap<string, Replying>
  /** Of runs that are about to message. */
  ahead: Ahead
  /** Campaign messages that the cap counts, to the person whose contact it is. */
  messagesTo(contactId: string): number
  /** One more is on its way. */
  count(contactId: string): void
}

/** A run says something of its own accord next, if nothing is against it. */
const CHECKED: ReadonlySet<string> = new Set(['check', 'split', 'message'])

/** Reads it, with the contacts held. `since`: what the cap counts. */
export async function know(tx: Statements, runs: readonly HeldRun[], since: Date): Promise<Known> {
  const versionOf = await versionsOf(tx, runs)
  const recipients = await recipientsOfRuns(tx, runs, versionOf)
  const checking = runs.filter(({ id, step }) => CHECKED.has(step) && recipients.has(id))
  const ahead = await Ahead.of(
    tx,
    checking.map(({ id }) => id),
  )
  const ids = [...new Set([...recipients.values()].map(({ id }) => id))]
  const counted = ids.length
    ? await tx.many<{ contact_id: string; person: string; messages: number }>('messages_counted', [
        ids,
        since,
      ])
    : []
  const replies = await repliesOf(tx, runs)
  const persons = new Map(counted.map((row) => [row.contact_id, row.person]))
  const messages = new Map(counted.map((row) => [row.person, row.messages]))
  const messagesTo = (contactId: string) => messages.get(persons.get(contactId) ?? contactId) ?? 0
  return {
    versionOf,
    recipients,
    replies,
    ahead,
    messagesTo,
    count: (contactId) => messages.set(persons.get(contactId) ?? contactId, messagesTo(contactId) + 1),
  }
}

/** Conversations in which contacts wrote, by the run that is about to answer. */
export async function repliesOf(
  db: Pick<Statements, 'many'>,
  runs: readonly HeldRun[],
): Promise<Map<string, Replying>> {
  const ids = runs.filter(({ step }) => step === 'reply').map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const rows = await db.many<Replying & { run_id: string }>('replies_due', [ids])
  return new Map(rows.map((row) => [row.run_id, row]))
}

/** The versions that runs are on, with their filters read; who entered a segment has to be a member of it, too. */
export async function versionsOf(
  db: Pick<Statements, 'many'>,
  runs: readonly Versioned[],
): Promise<Known['versionOf']> {
  const keyOf = ({ campaign_id, version }: { campaign_id: string; version: number }) =>
    `${campaign_id} ${version}`
  const unique = [...new Map(runs.map((run) => [keyOf(run), run])).values()]
  const rows = await db.many<{ campaign_id: string; version: number; definition: string }>(
    'campaign_versions',
    [unique.map(({ campaign_id }) => campaign_id), unique.map(({ version }) => version)],
  )
  const triggers = new Map(unique.map((run) => [keyOf(run), run.trigger_event]))
  const saved = rows.map((row) => {
    const key = keyOf(row)
    const definition = definitionOf(row)
    // Its event type may have another name since.
    const trigger_event = triggers.get(key) ?? definition.trigger_event
    return { key, definition, trigger: { trigger_event, provider_id: definition.provider_id } }
  })
  const startOf = await savedStarts(
    db,
    saved.map(({ trigger }) => trigger),
  )
  const versions = new Map<string, Version>()
  for (const { key, definition, trigger } of saved)
    versions.set(key, { key, definition, filters: savedFilters(definition.filters, startOf(trigger).facts) })
  const ofMembers = (version: Version, segmentId: string): Version => {
    const key = `${version.key} ${segmentId}`
    const known = versions.get(key)
    if (known) return known
    const { definition, filters } = version
    const made = { key, definition, filters: withMember(filters, segmentId) }
    versions.set(key, made)
    return made
  }
  return (run) => {
    const found = versions.get(keyOf(run))
    if (!found) throw new Error(`campaign ${run.campaign_id} has no version ${run.version}`)
    return run.source_kind === 'segment' ? ofMembers(found, run.source_id) : found
  }
}

/** Whom runs are about to message, by run: the contact that they began with, or at first that of the customer. */
async function recipientsOfRuns(
  tx: Statements,
  runs: readonly HeldRun[],
  versionOf: Known['versionOf'],
): Promise<Map<string, Recipient>> {
  const found = new Map<string, Recipient>()
  const begun = runs.filter(({ contact_id }) => contact_id !== null)
  if (begun.length) {
    const ids = [...new Set(begun.map(({ contact_id }) => contact_id as string))]
    const rows = await tx.many<Recipient>('recipients_held', [ids])
    const byId = new Map(rows.map((row) => [row.id, row]))
    for (const run of begun) {
      const recipient = byId.get(run.contact_id as string)
      if (recipient) found.set(run.id, recipient)
    }
  }
  const beginning = runs.flatMap((run) =>
    run.contact_id === null && run.subject !== null && ['start', 'delay'].includes(run.step)
      ? { ...run, subject: run.subject, channel: channelOf(versionOf(run).definition.action_type) }
      : [],
  )
  for (const [id, recipient] of await recipientsOf(tx, beginning)) found.set(id, recipient)
  return found
}
