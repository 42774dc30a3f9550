import { keep } from '../access/remembered.ts'
import { fail } from '../errors.ts'
import { errorFields, log } from '../log.ts'
import type { Published } from '../op.ts'
import { type Generation, generationOf } from './generation.ts'
import { noteLostServed } from './lost.ts'
import { type OpenGeneration, openGeneration } from './open-generation.ts'
import type { Pipeline } from './pipeline.ts'

/** Open generations per process, and of one brand: the newest, and earlier ones that are walked. */
const MOST = 64
const MOST_OF_BRAND = 3
/** That the tables of all of them may take. */
export const SERVED_MEMORY_MB = 1024
/** Erased files go a minute after the results are published without them: none is open here by then. */
const SWEEP_MS = 20_000
const LOOK_MS = 60_000

export interface Served {
  /**
   * The brand's published results; null before its first refresh. Of an earlier generation, for a walk that began in
   * it, as long as it is kept; then of the newest.
   */
  reader(brandId: string, generation?: number, call?: ServedCall): Promise<Published | null>
  /**
   * Closes generations that may be read no more, as after an erasure, and earlier ones that nobody has read since the
   * last time. Done every now and then.
   */
  sweep(): Promise<void>
  close(): Promise<void>
}

export interface ServedCall {
  /** The number of the newest generation, where that was read for the same call. */
  newest?: number | undefined
  /** What is asked afterwards is of no use any more. */
  signal?: AbortSignal | undefined
}

export interface ServedOptions {
  memoryMb?: number
}

const RETRY_SECONDS = 60
/** Results that were published are not there: what would be read is no empty result. */
export const computedAnew = () =>
  fail('unavailable', 'What is known of this brand is being computed anew, as after an upgrade. Try again.', {
    headers: { 'retry-after': String(RETRY_SECONDS) },
  })

interface Entry {
  key: string
  brandId: string
  published: Pick<Published, 'generation' | 'of'> & Pick<OpenGeneration, 'rows'>
  files: Promise<OpenGeneration>
  /** Once they are open. */
  opened?: OpenGeneration
  /** Statements and look-ups that run. */
  users: number
  /** The greater, the later it was read. */
  lastUse: number
}

/**
 * Reads the published generations of brands. What a request was given stays good: files that were closed since are
 * opened again for it, since they stay on disk longer than any request takes.
 */
export function openServed(pipeline: Pipeline, { memoryMb = SERVED_MEMORY_MB }: ServedOptions = {}): Served {
  const open = new Map<string, Entry>()
  /** The newest generations that were read, by brand: what a number names never changes. */
  const known = new Map<string, Generation>()
  const closing = new Set<Promise<void>>()
  let uses = 0
  let swept = 0

  const close = (entry: Entry): Promise<void> => {
    open.delete(entry.key)
    const closed = entry.files
      .then((files) => files.close())
      .catch(() => {})
      .finally(() => closing.delete(closed))
    closing.add(closed)
    return closed
  }

  /** Closes those beside an entry that were read longest ago, as long as there are too many. */
  const makeRoom = (beside: Entry) => {
    const idle = [...open.values()].filter((one) => one !== beside && one.users === 0)
    idle.sort((one, other) => one.lastUse - other.lastUse)
    const ofBrand = ({ brandId }: Entry) => brandId === beside.brandId
    const takes = ({ opened }: Entry) => opened?.memoryMb ?? 0
    for (const one of idle) {
      const all = [...open.values()]
      const tooMany = all.length > MOST || (ofBrand(one) && all.filter(ofBrand).length > MOST_OF_BRAND)
      const tooMuch = takes(one) > 0 && all.reduce((sum, other) => sum + takes(other), 0) > memoryMb
      if (tooMany || tooMuch) void close(one)
    }
  }

  /** What cannot be opened is looked at once a minute at most: it may be damaged later than it was missed first. */
  const looked = new Map<string, number>()
  const missed = (key: string, brandId: string) => {
    const now = performance.now()
    if (now < (looked.get(key) ?? Number.NEGATIVE_INFINITY) + LOOK_MS) return
    keep(looked, MOST, key, now)
    noteLostServed(pipeline, brandId).catch((error: unknown) => {
      looked.delete(key)
      log('warn', 'lost_files_not_looked_for', { brand_id: brandId, ...errorFields(error) })
    })
  }

  const entryOf = (key: string, brandId: string, generation: Generation): Entry => {
    const found = open.get(key)
    if (found) return found
    const files = openGeneration(pipeline, brandId, generation, {
      onTables: () => makeRoom(entry),
      onBroken: () => missed(key, brandId),
    })
    const entry: Entry = {
      ...{ key, brandId, files, users: 0, lastUse: ++uses },
      published: {
        generation: generation.generation,
        rows: (...asked) => use((files) => files.rows(...asked)),
        of: (customers, tables) => use((files) => files.of(customers, tables)),
      },
    }
    const use = async <T>(work: (files: OpenGeneration) => Promise<T>): Promise<T> => {
      const used = entryOf(key, brandId, generation)
      used.users++
      used.lastUse = ++uses
      try {
        return await work(await used.files)
      } finally {
        used.users--
      }
    }
    files.then(
      (opened) => {
        entry.opened = opened
      },
      () => {
        missed(key, brandId)
        if (open.get(key) === entry) open.delete(key)
      },
    )
    open.set(key, entry)
    makeRoom(entry)
    return entry
  }

  const find = async (brandId: string, wanted?: number, newest?: number) => {
    const last = known.get(brandId)
    if (wanted === undefined && newest !== undefined && last?.generation === newest) return last
    const found = await generationOf(pipeline, brandId, wanted)
    if (found && wanted === undefined) keep(known, MOST, brandId, found)
    return found
  }

  /** Null before the first refresh: what was published and is not there is no empty result. */
  const unpublished = async (brandId: string): Promise<null> => {
    const { some } = await pipeline.postgres.pipeline.one<{ some: boolean }>('lake_was_published', [brandId])
    if (some) throw computedAnew()
    return null
  }

  const sweep = async () => {
    const asked = [...open.values()]
    const until = uses
    if (asked.length === 0) return
    const readable = await pipeline.postgres.pipeline.many<Readable>('lake_served_readable', [
      asked.map(({ brandId }) => brandId),
      asked.map(({ published }) => published.generation),
    ])
    const isNewest = new Map(readable.map((row) => [keyOf(row.brand_id, row.generation), row.newest]))
    for (const entry of asked) {
      const isIdle = open.get(entry.key) === entry && entry.users === 0
      const isLeft = isNewest.get(entry.key) === false && entry.lastUse <= swept
      if (isIdle && (isLeft || !isNewest.has(entry.key))) await close(entry)
    }
    swept = until
  }
  const timer = setInterval(
    () => sweep().catch((error: unknown) => log('warn', 'served_not_swept', errorFields(error))),
    SWEEP_MS,
  ).unref()

  return {
    async reader(brandId, wanted, { newest, signal } = {}) {
      const found = await find(brandId, wanted, newest)
      if (!found) return await unpublished(brandId)
      const entry = entryOf(keyOf(brandId, found.generation), brandId, found)
      await entry.files
      const { published } = entry
      return { ...published, rows: (statement, values) => published.rows(statement, values, signal) }
    },
    sweep,
    async close() {
      clearInterval(timer)
      for (const entry of [...open.values()]) void close(entry)
      await Promise.all(closing)
    },
  }
}

interface Readable {
  brand_id: string
  generation: number
  newest: boolean
}

const keyOf = (brandId: string, generation: number) => `${brandId} ${generation}`
