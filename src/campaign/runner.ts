import { v7 } from 'uuid'
import { abreast } from '../abreast.ts'
import type { Seal } from '../access/seal.ts'
import { connectionOf } from '../connect/store/connection.ts'
import { isCancelled, isUnavailable } from '../errors.ts'
import { errorFields, log } from '../log.ts'
import type { Brand, Db, Lake, Statements } from '../op.ts'
import { persistently } from '../store/persistently.ts'
import type { Postgres } from '../store/postgres.ts'
import { endingOf } from './advance.ts'
import type { ChatEndpoint } from './chat.ts'
import type { CodeStore } from './discount-code.ts'
import { type Answering, type Drafting, foreknow, type Unreadable } from './foreknow.ts'
import type { HeldRun } from './held-run.ts'
import { messageBrand } from './message-brand.ts'
import { recordSteps } from './record-steps.ts'
import { type Foreknown, workOn } from './work.ts'

/** What the runner works with. */
export interface RunnerParts {
  postgres: Postgres
  /** What filters on customers read: with everything that came into the lake before they are looked at. */
  lake(brand: Brand): Pick<Lake, 'sources'>
  seal: Seal
  /** Whether a brand was filled by `recoup demo`: without a connection it has a store that takes any code. */
  isDemo(brandId: string): boolean
  /** Where answers are drafted; null: nowhere. */
  agent: ChatEndpoint | null
  /** No draft of a round is begun after this long. */
  draftingMs?: number
  /** Public origin of the service, where shortened links lead to. */
  baseUrl: string
  /** Domain under which the shops of the store platform live. */
  storePlatformDomain: string
  signal?: AbortSignal
}

/** Runs that one look finds. */
const MOST = 2_000
/** Of one transaction. */
const AT_ONCE = 250
/** Transactions at the same time: one waits for Postgres while another one's runs are thought about. */
const ABREAST = 4
/** Runs of all brands wait for as long as a round drafts. */
const DRAFTING_MS = 20_000
/** A claim is anybody's again after this long. */
const LEASE_MS = 120_000
/** Runs for which nobody could tell are looked at again after this long, however often. */
const UNASKED_MS = 30_000
/** The same where customers cannot be read: mostly a model is broken, until somebody mends it. */
const UNREAD_MS = 600_000
/** A step that fails is done again after these pauses, then the run ends. */
const PAUSES_MS = [30_000, 120_000, 600_000, 3_600_000]

/** What a run wants to know is found out so often. */
const MOST_ASKED = 3

const NOTHING: Foreknown = { holds: new Map(), codes: new Map(), drafts: new Map() }

/** Whether a run is due: one look at an index, however many wait. */
export async function isRunDue({ postgres }: Pick<RunnerParts, 'postgres'>, now: Date): Promise<boolean> {
  const first = await postgres.pipeline.maybe<{ due_at: Date }>('runs_due')
  return first !== undefined && first.due_at <= now
}

/** Works on runs that are due, as many as one look finds. Resolves with how many there were. */
export async function workDueRuns(parts: RunnerParts, now: Date): Promise<number> {
  const claim = v7()
  const due = await parts.postgres.pipeline.many<{ brand_id: string; id: string }>('runs_next', [now, MOST])
  const drafting = { isSilent: false, until: performance.now() + (parts.draftingMs ?? DRAFTING_MS) }
  const batches: Some[] = []
  const brands: OfBrand[] = []
  for (const [brandId, runs] of Map.groupBy(due, ({ brand_id }) => brand_id)) {
    const ofBrand = {
      brandId,
      answering: { none: null },
      unreadable: new Map(),
      later: { count: 0, asked: 0 },
      pace: { isTooSlow: false },
    }
    brands.push(ofBrand)
    for (let at = 0; at < runs.length; at += AT_ONCE) {
      const ids = runs.slice(at, at + AT_ONCE).map(({ id }) => id)
      batches.push({ ...ofBrand, drafting, claim, ids, now })
    }
  }
  let worked = 0
  try {
    await abreast(batches, ABREAST, async (some) => {
      const done = await workSome(parts, some)
      worked += done
    })
  } finally {
    brands.forEach(logLater)
  }
  return worked
}

/** What is known of a brand in this round. */
interface OfBrand {
  brandId: string
  /** Of its store. */
  answering: Answering
  unreadable: Unreadable
  /** Runs that were put off, and how many of them asked the store. */
  later: { count: number; asked: number }
  /** Whether a run took a statement too long by itself: what was claimed beside it comes again, while it is put off. */
  pace: { isTooSlow: boolean }
}

function logLater({ brandId, answering, unreadable, later }: OfBrand): void {
  if (later.count === 0) return
  const [error = answering.none] = unreadable.values()
  log('error', 'runs_put_off', { brand_id: brandId, ...later, ...(error !== null && errorFields(error)) })
}

interface Some extends OfBrand {
  /** Of all brands, in this round. */
  drafting: Drafting
  claim: string
  ids: readonly string[]
  now: Date
}

/** All of them together; when that fails one by one, so that a run that fails holds up no other. */
async function workSome(parts: RunnerParts, some: Some): Promise<number> {
  try {
    return await persistently(() => workBrand(parts, some))
  } catch (error) {
    if (isUnavailable(error) || parts.signal?.aborted) throw error
    const [id] = some.ids
    if (some.ids.length === 1) {
      some.pace.isTooSlow ||= isCancelled(error)
      log('error', 'run_failed', { brand_id: some.brandId, run_id: id, ...errorFields(error) })
      return await putOffOne(parts, some, error)
    }
    let worked = 0
    for (const id of some.ids) {
      if (some.pace.isTooSlow) break
      worked += await workSome(parts, { ...some, ids: [id] })
    }
    return worked
  }
}

async function workBrand(parts: RunnerParts, some: Some): Promise<number> {
  const { postgres, baseUrl, storePlatformDomain, agent } = parts
  const { brandId, answering, unreadable, later, drafting, claim, ids, now } = some
  const db = postgres.forBrand(brandId)
  const until = new Date(now.getTime() + LEASE_MS)
  const options = { now, baseUrl, storePlatformDomain, hasAgent: agent !== null, until }
  const first = await db.tx((tx) => workOn(tx, { claim, ids, isClaimed: false }, NOTHING, options))
  let { wanting } = first
  let known = NOTHING
  // A run wants to know of its customer first, then perhaps a code; what has changed meanwhile is asked for once more.
  for (let looks = 1; wanting.length > 0; looks++) {
    if (looks > MOST_ASKED) {
      if (!wanting.every(({ needs }) => needs === 'draft'))
        throw new Error('a run wants to know more and more')
      // Who writes faster than answers are drafted is answered later.
      const ids = wanting.map(({ run }) => run.id)
      await putOff(parts, { ...some, ids }, null)
      break
    }
    const outside = { ...outsideOf(parts, some.brandId, db, now), answering, unreadable, drafting }
    const more = await foreknow(db, wanting, outside)
    known = {
      holds: new Map([...known.holds, ...more.holds]),
      codes: new Map([...known.codes, ...more.codes]),
      drafts: new Map([...known.drafts, ...more.drafts]),
    }
    const { asked, unasked, unread } = more.later
    await putOff(parts, { ...some, ids: asked }, answering.none)
    await putOff(parts, { ...some, ids: unasked }, null)
    await putOff(parts, { ...some, ids: unread }, null, UNREAD_MS)
    const put = new Set([...asked, ...unasked, ...unread])
    later.count += put.size
    later.asked += asked.length
    const held = wanting.map(({ run }) => run.id).filter((id) => !put.has(id))
    wanting = (await db.tx((tx) => workOn(tx, { claim, ids: held, isClaimed: true }, known, options))).wanting
  }
  return first.taken
}

function outsideOf({ lake, seal, isDemo, agent, signal }: RunnerParts, brandId: string, db: Db, now: Date) {
  return {
    now,
    agent,
    ...(signal && { signal }),
    sources: async () => {
      const { brand } = await messageBrand(db)
      const row = await db.maybe<{ changed_tick: number }>('lake_changed_tick')
      return await lake(brand).sources(undefined, undefined, row?.changed_tick)
    },
    store: async (): Promise<CodeStore> =>
      (await connectionOf(db, seal)) ?? (isDemo(brandId) ? 'demo' : null),
  }
}

/** A run that cannot even be put off comes again: it holds up no other brand. */
async function putOffOne(parts: RunnerParts, some: Some, error: unknown): Promise<number> {
  try {
    return await putOff(parts, some, error)
  } catch (cause) {
    if (!isCancelled(cause)) throw cause
    some.pace.isTooSlow = true
    log('error', 'run_not_put_off', { brand_id: some.brandId, run_id: some.ids[0], ...errorFields(cause) })
    return 0
  }
}

/** Tried again later; in the end a run that failed is over, and says so. `error` is null where none was tried. */
async function putOff(
  { postgres }: RunnerParts,
  { brandId, claim, ids, now }: Some,
  error: unknown,
  untriedMs = UNASKED_MS,
) {
  if (ids.length === 0) return 0
  const isTried = error !== null
  const message = error instanceof Error ? error.message : String(error)
  return await postgres.forBrand(brandId).tx(async (tx) => {
    const taken = await tx.many<{ id: string }>('runs_take', [ids, claim, now])
    const runs = await tx.many<HeldRun>('runs_held', [taken.map(({ id }) => id)])
    const pauseOf = ({ attempts }: HeldRun) => (isTried ? PAUSES_MS[attempts] : untriedMs)
    const later = runs.flatMap((run) => {
      const pause = pauseOf(run)
      return pause === undefined ? [] : [{ ...run, dueAt: new Date(now.getTime() + pause).toISOString() }]
    })
    if (later.length > 0)
      await tx.run('runs_later', [
        later.map(({ id }) => id),
        later.map(({ attempts }) => (isTried ? attempts + 1 : attempts)),
        later.map(({ dueAt }) => dueAt),
      ])
    const over = runs.filter((run) => pauseOf(run) === undefined)
    if (over.length > 0) await endFailed(tx, over, message, now)
    return runs.length
  })
}

async function endFailed(
  tx: Statements,
  runs: readonly HeldRun[],
  message: string,
  now: Date,
): Promise<void> {
  const ends = runs.map((run) => ({ run, ...endingOf(run, 'internal_error', message) }))
  await recordSteps(
    tx,
    ends.flatMap(({ run: { id, ordinal }, steps }) => steps.map((step) => ({ ...step, runId: id, ordinal }))),
    now,
  )
  const none = runs.map(() => null)
  await tx.run('runs_move', [
    now,
    runs.map(({ id }) => id),
    runs.map(() => 'end'),
    none,
    ends.map(({ next }) => ('outcome' in next ? next.outcome : null)),
    none,
    none,
  ])
}
