import { fail } from '../errors.ts'
import type { Brand, Lake, Pin, Sources } from '../op.ts'
import type { Served } from './served.ts'
import type { Session } from './session.ts'
import { createSlots } from './slots.ts'
import { tooMuch } from './too-much.ts'

export interface Asked {
  /** Default: as of now. */
  past?: Date
  pin?: Pin
  /** Ends the session, also while it is being opened. */
  signal: AbortSignal
}

/**
 * Opens a session with all that is read of a brand, as of now or of a past instant, anew or as it was at a pin: models
 * stand right of the lake.
 */
export type Open = (brand: Brand, asked: Asked) => Promise<Session>

/**
 * Sessions over sources open at once per process, and those kept between requests, of the present and of the past: each
 * has its memory limit.
 */
const OPEN = { all: 3, past: 2 }
const KEPT = 2
/** A kept session shows the manifest that it opened with: accepted events must be in every read within 60 s. */
const FRESH_MS = 20_000
/** A call that computes for longer is given up. */
const MOST_MS = 60_000

export interface LakesOptions {
  freshMs?: number
  mostMs?: number
}

interface Entry {
  brandId: string
  /** It takes a slot for the past. */
  past: boolean
  /** The same for sessions that show the same: by what was asked for, and by the pin once it is open. */
  keys: Set<string>
  session: Promise<Session>
  end: AbortController
  openedAt: number
  /** Of its manifest; Infinity until that is known. */
  generation: number
  tick: number
  /** Statements that run, and requests that are about to send one: not closed under their hands. */
  users: number
  closed: boolean
}

/** What a session shows at least. */
interface Least {
  generation: number
  tick: number
}
const ANY: Least = { generation: 0, tick: 0 }
const has = (shown: Least, { generation, tick }: Least) =>
  shown.generation >= generation && shown.tick >= tick

/** A call: aborted once nobody waits for its answer. */
export interface Call {
  readonly signal: AbortSignal
}

export interface Lakes {
  forBrand(brand: Brand, call?: Call): Lake
  close(): Promise<void>
}

const STOPPED = fail('unavailable', 'The service stops. Try again.')

/** What operations read of brands' lakes: published results, and sources for what is computed on request. */
export function openLakes(
  served: Served,
  openSession: Open,
  { freshMs = FRESH_MS, mostMs = MOST_MS }: LakesOptions = {},
): Lakes {
  const slots = createSlots(OPEN)
  const open = new Set<Entry>()
  /** By brand, the least recently used first: a session of the present, and one of the past, for a walk through pages. */
  const kept = { now: new Map<string, Entry>(), past: new Map<string, Entry>() }

  const openPrepared: Open = async (brand, asked) => {
    const claim = { brandId: brand.id, past: asked.past !== undefined }
    const give = await slots.take(claim, asked.signal)
    try {
      const session = await openSession(brand, asked)
      return { ...session, close: () => session.close().finally(give) }
    } catch (error) {
      give()
      throw error
    }
  }
  const close = async (entry: Entry): Promise<void> => {
    entry.closed = true
    forget(entry)
    open.delete(entry)
    entry.end.abort(STOPPED)
    const session = await entry.session.catch(() => null)
    await session?.close()
  }
  const likeIt = ({ past }: Entry) => (past ? kept.past : kept.now)
  const keep = (entry: Entry) => {
    const others = likeIt(entry)
    others.delete(entry.brandId)
    others.set(entry.brandId, entry)
    if (others.size > KEPT) others.delete(others.keys().next().value as string)
  }
  const forget = (entry: Entry) => {
    if (isKept(entry)) likeIt(entry).delete(entry.brandId)
  }
  const isKept = (entry: Entry) => likeIt(entry).get(entry.brandId) === entry
  const isInTheWay = ({ past }: Entry) => slots.wanted || (past && slots.pastWanted)
  const closeIdle = () => {
    for (const entry of [...open]) {
      if (entry.users === 0 && (!isKept(entry) || isInTheWay(entry))) void close(entry)
    }
  }
  const leave = (entry: Entry) => {
    entry.users--
    closeIdle()
  }

  const start = (brand: Brand, key: string, asked: Omit<Asked, 'signal'>): Entry => {
    const end = new AbortController()
    const session = openPrepared(brand, { ...asked, signal: end.signal })
    const past = asked.past !== undefined
    const entry: Entry = {
      ...{ brandId: brand.id, past, keys: new Set([key]), session, end, openedAt: Date.now() },
      ...{ generation: Number.POSITIVE_INFINITY, tick: Number.POSITIVE_INFINITY, users: 0, closed: false },
    }
    open.add(entry)
    session.then(
      (opened) => {
        entry.generation = opened.manifest.generation
        entry.tick = opened.manifest.tick
        entry.keys.add(keyOf(brand, pinOf(opened, asked.pin?.past ?? past)))
        // Not sooner: one that is still being opened ends with the last who wants it.
        if (past && !entry.closed) keep(entry)
        setTimeout(leaveKept, entry.openedAt + freshMs - Date.now(), entry).unref()
      },
      () => {
        open.delete(entry)
        forget(entry)
      },
    )
    return entry
  }
  /** Of those that are open the newest that shows the same. */
  const joined = (key: string, least: Least): Entry | undefined =>
    [...open].findLast(
      (entry) => entry.keys.has(key) && Date.now() - entry.openedAt < freshMs && has(entry, least),
    )
  const recent = (brand: Brand, least: Least): Entry => {
    const entry = joined(brand.id, least) ?? start(brand, brand.id, {})
    keep(entry)
    return entry
  }
  /** It shows what an erasure removes since, perhaps. */
  const leaveKept = (entry: Entry) => {
    forget(entry)
    closeIdle()
  }
  const earlier = (brand: Brand, least: Least, past: Date, pin?: Pin): Entry => {
    const key = pin ? keyOf(brand, pin) : `${brand.id} ${past.toISOString()}`
    return joined(key, least) ?? start(brand, key, { past, ...(pin && { pin }) })
  }

  const readerOf = async (
    find: () => Entry,
    { call, past, least = ANY }: { call: Call | undefined; past: boolean; least?: Least },
  ): Promise<Sources> => {
    const until = performance.now() + mostMs
    let entry = find()
    const use = async <T>(work: (session: Session, signal?: AbortSignal) => Promise<T>): Promise<T> => {
      if (entry.closed) entry = find()
      const used = entry
      used.users++
      closeIdle()
      const limit = call && limited(call, until, mostMs)
      try {
        return await work(await unlessAborted(used.session, limit?.signal), limit?.signal)
      } finally {
        limit?.end()
        // After the turn in which the answer arrives: who got a reader sends its first statement in it.
        setImmediate(leave, used)
      }
    }
    const told = () =>
      use(async (session) => ({
        ...{ generation: session.manifest.generation, asOf: session.asOf },
        pin: pinOf(session, past),
      }))
    let opened = await told()
    if (!has({ generation: opened.generation, tick: opened.pin.tick }, least)) {
      // Another request had begun to open it before that was published.
      entry = find()
      opened = await told()
    }
    return {
      ...opened,
      rows: <Row>(statement: string, values?: readonly unknown[]) =>
        use(({ duck }, signal) => duck.rows<Row>(statement, values, signal).catch(tooMuch)),
    }
  }

  return {
    forBrand: (brand, call) => ({
      served: (generation, newest) => served.reader(brand.id, generation, { newest, signal: call?.signal }),
      sources: (asOf, generation = 0, tick = 0) => {
        const least = { generation, tick }
        return asOf
          ? readerOf(() => earlier(brand, least, asOf), { call, past: true, least })
          : readerOf(() => recent(brand, least), { call, past: false, least })
      },
      pinned: (pin) => readerOf(() => earlier(brand, ANY, new Date(pin.asOf), pin), { call, past: pin.past }),
    }),
    close: async () => {
      await Promise.all([...open].map(close))
      await served.close()
    },
  }
}

const pinOf = ({ manifest: { tick, erasures, at }, asOf }: Session, past: boolean): Pin => ({
  ...{ asOf: asOf.toISOString(), past, tick, erasures, at: at.toISOString() },
})

const keyOf = ({ id }: Brand, { asOf, past, tick, erasures, at }: Pin) =>
  JSON.stringify([id, asOf, past, tick, erasures, at])

/** Aborted with the call, and when it takes too long, which is from `until` on, by `performance.now()`. */
function limited({ signal }: Call, until: number, mostMs: number): { signal: AbortSignal; end(): void } {
  const late = new AbortController()
  const giveUp = () => {
    const seconds = Math.round(mostMs / 1000)
    late.abort(fail('unavailable', `It was not computed within ${seconds} s. Try again with backoff.`))
  }
  const leftMs = until - performance.now()
  if (leftMs <= 0) giveUp()
  const timer = setTimeout(giveUp, leftMs).unref()
  return { signal: AbortSignal.any([signal, late.signal]), end: () => clearTimeout(timer) }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await work
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
