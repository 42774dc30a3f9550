import { abreast } from '../abreast.ts'
import { Failure, isPassing } from '../errors.ts'
import type { Db, Reader } from '../op.ts'
import { type Conversing, draftAnswer } from './agent.ts'
import type { ChatEndpoint } from './chat.ts'
import { availableTo } from './definition.ts'
import { offeredDiscount } from './discount.ts'
import { type CodeOptions, type CodeStore, discountCode } from './discount-code.ts'
import { customersThatHold } from './filter.ts'
import { type HeldRun, repliesOf, versionsOf } from './held-run.ts'
import { messageBrand } from './message-brand.ts'
import { savedStarts } from './start.ts'
import type { Draft, Foreknown, Wanting } from './work.ts'

/** What runs need to know of the lake and of the store; neither is asked within a transaction. */
export interface Outside {
  /** The brand's sources and results. */
  sources(): Promise<Reader>
  store(): Promise<CodeStore>
  answering: Answering
  unreadable: Unreadable
  /** Where answers are drafted; null: nowhere. */
  agent: ChatEndpoint | null
  drafting: Drafting
  now: Date
  signal?: AbortSignal
}

/** What a round found out about a brand's store: why it gives no answer now. */
export interface Answering {
  none: Failure | null
}

/** What a round could not read of a brand, and why: its sources, or the customers of a version, by its key. */
export type Unreadable = Map<string, unknown>

/** Of all drafts of a round. */
export interface Drafting {
  /** An answer did not come in time: the next one would be waited for as long, too. */
  isSilent: boolean
  /** No draft is begun later, by `performance.now()`: runs of all brands wait for the round to end. */
  until: number
}

/** What was found out, and the runs that have to wait: those that asked in vain, and those for which nobody can tell yet. */
export interface Found extends Foreknown {
  later: Later
}

interface Later {
  asked: readonly string[]
  unasked: readonly string[]
  /** Of customers that cannot be read. */
  unread: readonly string[]
}

/** Codes, or drafts, that are asked for at the same time. */
const ABREAST = 8

/** In the place of a version's key. */
const ALL_SOURCES = 'sources'

/** Another try does not mend these: there will be no code. */
const FINAL = ['not_found', 'forbidden', 'integration_not_connected', 'bad_request', 'upstream_error']
/** The next one would wait for nothing as long, too. */
const NO_ANSWER = ['upstream_unavailable', 'rate_limited']

/** Finds out what runs want before they go on. Once a store gives no answer it is asked no more. */
export async function foreknow(db: Db, wanting: readonly Wanting[], outside: Outside): Promise<Found> {
  const looking = wanting.filter(({ needs }) => needs === 'customer').map(({ run }) => run)
  const offering = wanting.filter(({ needs }) => needs === 'code').map(({ run }) => run)
  const answering = wanting.filter(({ needs }) => needs === 'draft').map(({ run }) => run)
  const { codes, asked, unasked } = offering.length ? await codesOf(db, offering, outside) : NO_CODES
  const { drafts, undrafted } = answering.length ? await draftsOf(db, answering, outside) : NO_DRAFTS
  const { holds, unread } = looking.length ? await holdsOf(db, looking, outside) : NO_HOLDS
  return {
    holds,
    codes,
    drafts,
    later: { asked, unasked: [...unasked, ...undrafted], unread },
  }
}

interface Holds {
  holds: Map<string, boolean>
  unread: readonly string[]
}
const NO_HOLDS: Holds = { holds: new Map(), unread: [] }

/** Customers are looked at together, once for each version. That a brand cannot be read is no failure of its runs. */
async function holdsOf(
  db: Db,
  runs: readonly HeldRun[],
  { sources, unreadable, signal }: Outside,
): Promise<Holds> {
  const tried = async <Found>(what: string, read: () => Promise<Found>): Promise<Found | null> => {
    if (unreadable.has(what)) return null
    try {
      return await read()
    } catch (error) {
      if (isPassing(error) || signal?.aborted) throw error
      unreadable.set(what, error)
      return null
    }
  }
  const versions = Map.groupBy(runs, await versionsOf(db, runs))
  const reader = await tried(ALL_SOURCES, sources)
  const holds = new Map<string, boolean>()
  const unread: string[] = []
  for (const [{ key, filters }, some] of versions) {
    const customers = [...new Set(some.flatMap(({ customer }) => customer ?? []))]
    const fit = reader && (await tried(key, () => customersThatHold(filters, reader, customers)))
    if (fit) for (const { id, customer } of some) holds.set(id, customer !== null && fit.has(customer))
    else unread.push(...some.map(({ id }) => id))
  }
  return { holds, unread }
}

type Codes = Pick<Found, 'codes'> & Pick<Later, 'asked' | 'unasked'>
const NO_CODES: Codes = { codes: new Map(), asked: [], unasked: [] }

async function codesOf(
  db: Db,
  runs: readonly HeldRun[],
  { store, answering, now, signal }: Outside,
): Promise<Codes> {
  const versionOf = await versionsOf(db, runs)
  const mayAsk = () => {
    if (answering.none) throw answering.none
  }
  const options: CodeOptions = { store: await store(), now, mayAsk, ...(signal && { signal }) }
  const codes = new Map()
  const asked: string[] = []
  const unasked: string[] = []
  await abreast(runs, ABREAST, async (run) => {
    const { discount_id } = versionOf(run).definition
    if (discount_id === null || run.contact_id === null) return
    try {
      const discount = await offeredDiscount(db, discount_id)
      const { code } = await discountCode(db, discount, run.contact_id, options)
      codes.set(run.id, { discount, code })
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      if (error === answering.none) unasked.push(run.id)
      else if (FINAL.includes(error.code)) codes.set(run.id, { failed: error.message })
      else if (NO_ANSWER.includes(error.code)) {
        answering.none ??= error
        asked.push(run.id)
      } else throw error
    }
  })
  return { codes, asked, unasked }
}

/** Of a conversation that the agent reads. */
const MOST_READ = 20

interface Drafts {
  drafts: Map<string, Draft>
  undrafted: readonly string[]
}
const NO_DRAFTS: Drafts = { drafts: new Map(), undrafted: [] }

/** Each costs as soon as it is there, whatever becomes of it. */
async function draftsOf(
  db: Db,
  runs: readonly HeldRun[],
  { agent, drafting, now, signal }: Outside,
): Promise<Drafts> {
  const [versionOf, replies, { brand }] = await Promise.all([
    versionsOf(db, runs),
    repliesOf(db, runs),
    messageBrand(db),
  ])
  const triggerOf = (run: HeldRun) => ({
    trigger_event: run.trigger_event,
    provider_id: versionOf(run).definition.provider_id,
  })
  const startOf = await savedStarts(db, runs.map(triggerOf))
  const drafts = new Map<string, Draft>()
  const undrafted: string[] = []
  await abreast(runs, ABREAST, async (run) => {
    const reply = replies.get(run.id)
    if (!reply || !agent) return
    const { answers } = reply
    if (drafting.isSilent) {
      drafts.set(run.id, { template: null, answers })
      return
    }
    if (performance.now() > drafting.until) {
      undrafted.push(run.id)
      return
    }
    const conversing: Conversing = {
      brandName: brand.name,
      available: availableTo(startOf(triggerOf(run)), versionOf(run).definition.discount_id),
      messages: await db.many('conversation_transcript', [reply.conversation_id, MOST_READ]),
      drafts: reply.agent_drafts,
      tokens: reply.agent_tokens,
    }
    const { template, drafts: made, tokens, unanswered } = await draftAnswer(agent, conversing, signal)
    if (unanswered) drafting.isSilent = true
    if (made > 0) await db.run('conversation_spend', [reply.conversation_id, made, tokens, now])
    drafts.set(run.id, { template, answers })
  })
  return { drafts, undrafted }
}
