import { v7 } from 'uuid'
import { Failure, fail } from '../errors.ts'
import { parseStored } from '../event/exact.ts'
import type { Db, Statements } from '../op.ts'
import { refusal } from '../segment/complaint.ts'
import { defaultMessages } from './default-message.ts'
import { type CampaignDefinition, readCampaign, type SentDefinition } from './definition.ts'
import type { Messages } from './message-rule.ts'
import { type Start, savedStart } from './start.ts'
import type { CampaignType } from './trigger.ts'

export const CAMPAIGN_STATUSES = ['draft', 'active', 'paused', 'archived'] as const
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number]

/** A campaign of a list. */
export interface CampaignRow {
  id: string
  name: string
  type: CampaignType
  status: CampaignStatus
}

/** A campaign with its present version. */
export interface Campaign extends CampaignRow {
  version: number
  definition: CampaignDefinition
  created_by: string
  created_at: Date
  updated_at: Date
  activated_at: Date | null
}

export type Held = Pick<Campaign, 'id' | 'name' | 'type' | 'status' | 'version' | 'definition'>

/** What names a campaign, beside its definition; absent or null: what its trigger is called, and the type of that. */
export interface Named {
  name?: string | null
  type?: CampaignType | null
}

/** Saves a draft, which is paused. Fails with bad_request. */
export async function createCampaign(
  db: Db,
  sent: SentDefinition & Named,
  createdBy: string,
): Promise<Campaign> {
  const id = v7()
  return await db.tx(async (tx) => {
    await tx.run('event_definitions_keep')
    const { definition, start } = await readCampaign(tx, sent)
    const name = sent.name?.trim() || start.label
    const { trigger_event, provider_id } = definition
    const row = [id, name, typeOf(start, sent.type), trigger_event, provider_id, createdBy]
    await tx.run('campaign_insert', row)
    await tx.run('campaign_version_insert', [id, 1, definition, createdBy])
    return await campaignById(tx, id)
  })
}

/** As Postgres has it: the definition is text, since numbers of filters keep their digits. */
export type Stored<Row extends { definition: CampaignDefinition }> = Omit<Row, 'definition'> & {
  definition: string
}

export const definitionOf = ({ definition }: { definition: string }): CampaignDefinition =>
  parseStored(definition) as CampaignDefinition

/** Fails with not_found. */
export async function campaignById(db: Pick<Statements, 'one'>, id: string): Promise<Campaign> {
  const row = await db.one<Stored<Campaign>>('campaign_by_id', [id])
  return { ...row, definition: definitionOf(row) }
}

/** The campaign, locked for a change. Fails with not_found, or with conflict for one that is archived. */
async function changeable(tx: Statements, id: string): Promise<Campaign> {
  await tx.run('event_definitions_keep')
  await tx.one('campaign_lock', [id])
  const campaign = await campaignById(tx, id)
  if (campaign.status === 'archived') throw fail('conflict', `"${campaign.name}" is archived, for good.`)
  return campaign
}

export interface Change extends Partial<SentDefinition>, Named {
  /** The version that the change is made to; absent: whichever it is. */
  version?: number
}

/**
 * Saves what is given as the next version, and keeps the rest; who was started stays on their version. What is null
 * takes its default. Fails with bad_request, not_found or conflict.
 */
export async function updateCampaign(
  db: Db,
  id: string,
  { version, name, type, ...change }: Change,
  { by, now }: { by: string; now: Date },
): Promise<Campaign> {
  return await db.tx(async (tx) => {
    const held = await changeable(tx, id)
    if (version !== undefined && version !== held.version)
      throw fail(
        'conflict',
        `version: the campaign is at ${held.version}, not ${version}: read it again and apply the change to that`,
      )
    const isRedefined = Object.values(change).some((value) => value !== undefined)
    const { definition } = isRedefined ? await readCampaign(tx, changed(held.definition, change)) : held
    if (held.status === 'active' && isOver(held.definition, now) && !isOver(definition, now))
      throw fail(
        'conflict',
        'ends_at: the campaign is over, and this would turn it on again: pause it with set_campaign_status, change it, then turn it on again',
      )
    const start = await savedStart(tx, definition)
    const isRetriggered = definition.trigger_event !== held.definition.trigger_event
    const named = {
      ...held,
      name: name === null ? start.label : name?.trim() || held.name,
      type: type === undefined && !isRetriggered ? held.type : typeOf(start, type),
    }
    await saveVersion(tx, named, definition, by)
    if (isRetriggered || definition.provider_id !== held.definition.provider_id)
      await tx.run('campaign_await', [id, now])
    return await campaignById(tx, id)
  })
}

/** What a predefined trigger starts has its type; an event of the brand’s own can be meant for anything. */
function typeOf(start: Start, given: CampaignType | null | undefined): CampaignType {
  if (given && start.kind === 'predefined' && given !== start.type)
    throw refusal('type', `${start.event} starts campaigns of the type ${start.type}`)
  return given ?? start.type
}

/**
 * Another trigger takes along neither its provider nor where its cart link leads. A text that is still the default follows
 * what the campaign is now; a branch goes on to say what the campaign says, where it did.
 */
function changed(before: CampaignDefinition, change: Partial<SentDefinition>): SentDefinition {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  const isRetriggered = given.trigger_event !== undefined && given.trigger_event !== before.trigger_event
  const kept = isRetriggered ? { ...before, provider_id: null, cart_link: null } : before
  const after: SentDefinition = { ...kept, ...given }
  const [former, next] = [defaultMessages(before), defaultMessages(after)]
  const following = (texts: Partial<Messages>): Partial<Messages> =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => {
        const of = name as keyof Messages
        return [of, text === former[of] ? next[of] : text]
      }),
    )
  return {
    ...after,
    messages: change.messages === null ? null : { ...following(before.messages), ...change.messages },
    split: change.split === undefined ? ownSplit(before, following) : change.split,
  }
}

/** Branches with what each says of its own. */
const ownSplit = (
  { messages, split }: CampaignDefinition,
  following: (texts: Partial<Messages>) => Partial<Messages>,
): SentDefinition['split'] => ({
  branches: split.branches.map((branch) => ({
    ...branch,
    messages: following(
      Object.fromEntries(
        Object.entries(branch.messages).filter(([name, text]) => text !== messages[name as keyof Messages]),
      ),
    ),
  })),
})

/** Writes the next version of a campaign that the transaction has locked, unless it is the very same. */
export async function saveVersion(
  tx: Statements,
  { id, name, type, ...before }: Held,
  definition: CampaignDefinition,
  createdBy: string,
): Promise<void> {
  const isSame = JSON.stringify(definition) === JSON.stringify(before.definition)
  const version = before.version + (isSame ? 0 : 1)
  if (!isSame) await tx.run('campaign_version_insert', [id, version, definition, createdBy])
  const { trigger_event, provider_id } = definition
  await tx.run('campaign_update', [id, name, type, version, trigger_event, provider_id])
}

/** Turns a campaign on, pauses it or archives it for good. Fails with not_found or conflict. */
export async function setCampaignStatus(
  db: Db,
  id: string,
  status: Exclude<CampaignStatus, 'draft'>,
  now: Date,
): Promise<Campaign> {
  return await db.tx(async (tx) => {
    const held = await changeable(tx, id)
    if (status === 'paused' && held.status === 'draft')
      throw fail('conflict', `"${held.name}" is a draft, which is paused already.`)
    if (status === 'active') await readyToRun(tx, held, now)
    if (status !== held.status) await tx.run('campaign_set_status', [id, status, now])
    return await campaignById(tx, id)
  })
}

const isOver = ({ ends_at }: CampaignDefinition, now: Date): boolean =>
  ends_at !== null && new Date(ends_at) <= now

/** What it names may have gone since it was saved: then it is not the call that is wrong. */
async function readyToRun(tx: Statements, { definition }: Held, now: Date): Promise<void> {
  try {
    await readCampaign(tx, definition)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'bad_request') throw error
    throw fail('conflict', error.message, { cause: error })
  }
  if (isOver(definition, now))
    throw fail('conflict', 'ends_at: the campaign is over; give it a later end, or none')
}
