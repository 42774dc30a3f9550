import type { Brand, Lake, Pin, Sources } from '../op.ts'
import type { Served } from './served.ts'
import type { Session } from './session.ts'
import { createSlots } from './slots.ts'

/**
 * Opens a session with all that is read of a brand, as of now or of a past instant, anew or as it was at a pin: models
 * stand right of the lake.
 */
export type Open = (brand: Brand, past?: Date, pin?: Pin) => Promise<Session>

/** Sessions over sources open at once per process, and those kept between requests: each has its memory limit. */
const OPEN = 3
const KEPT = 2
/** A kept session shows the manifest that it opened with: accepted events must be in every read within 60 s. */
const FRESH_MS = 20_000

interface Entry {
  brandId: string
  session: Promise<Session>
  openedAt: number
  /** Of its manifest; Infinity until that is known. */
  generation: number
  /** Statements that run, and requests that are about to send one: not closed under their hands. */
  users: number
  closed: boolean
}

export interface Lakes {
  forBrand(brand: Brand): Lake
  close(): Promise<void>
}

/** What operations read of brands' lakes: published results, and sources for what is computed on request. */
export function openLakes(served: Served, openSession: Open): Lakes {
  const slots = createSlots(OPEN)
  const open = new Set<Entry>()
  /** By brand, the least recently used first. */
  const kept = new Map<string, Entry>()

  const openPrepared: Open = async (...asked) => {
    await slots.take()
    try {
      return await openSession(...asked)
    } catch (error) {
      slots.give()
      throw error
    }
  }
  const close = async (entry: Entry): Promise<void> => {
    entry.closed = true
    forget(entry)
    open.delete(entry)
    const session = await entry.session.catch(() => null)
    await session?.close()
    if (session) slots.give()
  }
  const forget = (entry: Entry) => {
    if (kept.get(entry.brandId) === entry) kept.delete(entry.brandId)
  }
  const isKept = (entry: Entry) => kept.get(entry.brandId) === entry
  const closeIdle = () => {
    for (const entry of [...open]) {
      if (entry.users === 0 && (!isKept(entry) || slots.waiting > 0)) void close(entry)
    }
  }
  const leave = (entry: Entry) => {
    entry.users--
    closeIdle()
  }

  const start = (brand: Brand, past?: Date, pin?: Pin): Entry => {
    const session = openPrepared(brand, past, pin)
    const entry: Entry = {
      ...{ brandId: brand.id, session, openedAt: Date.now() },
      ...{ generation: Number.POSITIVE_INFINITY, users: 0, closed: false },
    }
    open.add(entry)
    session.then(
      ({ manifest }) => {
        entry.generation = manifest.generation
      },
      () => {
        open.delete(entry)
        forget(entry)
      },
    )
    return entry
  }
  const recent = (brand: Brand, newest: number): Entry => {
    const found = kept.get(brand.id)
    const isFresh = found && Date.now() - found.openedAt < FRESH_MS && found.generation >= newest
    const entry = isFresh ? found : start(brand)
    kept.delete(brand.id)
    kept.set(brand.id, entry)
    if (kept.size > KEPT) kept.delete(kept.keys().next().value as string)
    return entry
  }

  const readerOf = async (find: () => Entry, past: boolean, newest = 0): Promise<Sources> => {
    let entry = find()
    const use = async <T>(work: (session: Session) => Promise<T>): Promise<T> => {
      if (entry.closed) entry = find()
      const used = entry
      used.users++
      closeIdle()
      try {
        return await work(await used.session)
      } finally {
        // After the turn in which the answer arrives: who got a reader sends its first statement in it.
        setImmediate(leave, used)
      }
    }
    const told = () =>
      use(async ({ manifest: { generation, tick, erasures, at }, asOf }) => ({
        ...{ generation, asOf },
        pin: { asOf: asOf.toISOString(), past, tick, erasures, at: at.toISOString() },
      }))
    let opened = await told()
    if (opened.generation < newest) {
      // Another request had begun to open it before that generation was published.
      entry = find()
      opened = await told()
    }
    return {
      ...opened,
      rows: (statement, values) => use(({ duck }) => duck.rows(statement, values)),
    }
  }

  return {
    forBrand: (brand) => ({
      served: (generation, newest) => served.reader(brand.id, generation, newest),
      sources: (asOf, newest = 0) =>
        asOf
          ? readerOf(() => start(brand, asOf), true, newest)
          : readerOf(() => recent(brand, newest), false, newest),
      pinned: (pin) => readerOf(() => start(brand, new Date(pin.asOf), pin), pin.past),
    }),
    close: async () => {
      await Promise.all([...open].map(close))
      await served.close()
    },
  }
}
