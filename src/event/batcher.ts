import { v7 as uuidv7 } from 'uuid'
import { fail } from '../errors.ts'
import type { Postgres } from '../store/postgres.ts'
import { Compressor } from './compressor.ts'
import { LineMemory } from './line-memory.ts'
import { checkDurability, type LogWriter, openLogWriter } from './log.ts'
import { FairQueue, type Queued } from './queue.ts'
import { Shedder, watchLoop } from './shed.ts'

/** Commits the lines of requests: many requests per transaction, each request in one. */
export interface Batcher {
  /**
   * Keeps room for a body of the brand that is about to be read, until what it returns is called: right before `store`,
   * or when nothing comes of it. Throws `unavailable` when there is none: what is parsed first and refused then costs
   * as much as what is stored. Pages have half of the room: whoever makes up their origin, and sends nothing, leaves the
   * brand's servers the other half, and as `network`, that of whoever opened the page, the other pages seven eighths of
   * theirs. Servers with a key have no `network`.
   */
  admit(brandId: string, bytes: number, network?: string): () => void
  /**
   * Resolves once the lines are committed. Fails with `unavailable` when nothing of them is stored (thrown at once
   * when there is no room), with Unsettled when that is not known. `lines`: NDJSON of so many events of the brand; they
   * are read during the call only.
   */
  store(brandId: string, lines: Buffer, events: number): Promise<void>
  /** Takes nothing more, finishes what waits and closes the connections. */
  close(): Promise<void>
}

export interface BatcherOptions {
  connections?: number
  /** Most bytes that wait or are under way, in all and of one brand. */
  totalBytes?: number
  brandBytes?: number
  /** Most bytes of lines in one batch; a single request may be longer. */
  batchBytes?: number
  /** From receipt to the answer, whatever Postgres does. */
  answerMs?: number
  /** What is taken while the event loop does not keep up. */
  shedder?: Pick<Shedder, 'takes'>
}

const DEFAULTS = {
  connections: 2,
  totalBytes: 64 << 20,
  brandBytes: 8 << 20,
  batchBytes: 2 << 20,
  answerMs: 5_000,
}

/** What works on one batch at a time. */
interface Slot {
  compressor: Compressor
  writer: LogWriter
}

interface Waiting extends Queued {
  lines: Buffer
  events: number
  resolve(): void
  reject(reason: unknown): void
}

/** A brand whose oldest request waits longer than this gets no more in: an early 503 is better than a late one. */
const MOST_WAIT_MS = 1_000
/** A request that waited this long for a connection is given up, so that whoever gets one has time left. */
const GIVE_UP_MS = 2_000
const CHECK_MS = 250
/** What a waiting request weighs beside its lines. */
const OVERHEAD_BYTES = 512
/** A body's lines are longer than the body: each names its brand and times. */
const LINES_OF_BODY = 1.5

const AWAY = 'Events cannot be stored now. Nothing was accepted; send the whole batch again, with backoff.'
const STOPPING = 'The service is shutting down. Nothing was accepted; send the whole batch again.'
const BUSY =
  'More events arrive than can be stored. Nothing was accepted; send the whole batch again, with backoff.'

/**
 * Natural group commit: a connection that is free takes all that waits, so batches grow with the load and no timer
 * delays a lone request. Fair between brands and bounded in bytes. Fails when Postgres runs with fsync off.
 */
export async function openBatcher(postgres: Postgres, options: BatcherOptions = {}): Promise<Batcher> {
  await checkDurability(postgres)
  const { connections, totalBytes, brandBytes, batchBytes, answerMs } = { ...DEFAULTS, ...options }
  const slots: Slot[] = Array.from({ length: connections }, () => ({
    compressor: new Compressor(),
    writer: openLogWriter(postgres),
  }))
  const free = [...slots]
  const ours = new Shedder()
  const shedder = options.shedder ?? ours
  const stopWatching = watchLoop(ours)
  const queue = new FairQueue<Waiting>()
  const memory = new LineMemory()
  const held = new HeldBytes()
  /** Of bodies that are being read, of those that pages send, and of these by network. */
  const expected = new HeldBytes()
  const fromPages = new HeldBytes()
  const fromNetworks = new HeldBytes()
  let scheduled = false
  let closing: Promise<void> | undefined
  let finished = () => {}

  const settle = (requests: readonly Waiting[], outcome: (request: Waiting) => void) => {
    for (const request of requests) {
      held.add(request.brandId, -request.bytes)
      outcome(request)
    }
  }

  const commit = async (slot: Slot, requests: Waiting[]) => {
    let events = 0
    let oldest = Number.POSITIVE_INFINITY
    for (const request of requests) {
      events += request.events
      oldest = Math.min(oldest, request.since)
    }
    const [id, receivedAt] = [uuidv7(), new Date()]
    try {
      const compressed = slot.compressor.compress(requests.map((request) => request.lines))
      for (const request of requests) memory.giveBack(request.lines)
      const payload = await compressed
      await slot.writer.append({ id, receivedAt, events, payload }, oldest + answerMs)
      settle(requests, (request) => request.resolve())
    } catch (error) {
      settle(requests, (request) => request.reject(error))
    }
    free.push(slot)
    pump()
  }

  const pump = () => {
    scheduled = false
    while (queue.size > 0 && free.length > 0) void commit(free.pop() as Slot, queue.take(batchBytes))
    if (closing && queue.size === 0 && free.length === connections) finished()
  }

  const expiry = setInterval(() => {
    settle(queue.takeOlder(performance.now() - GIVE_UP_MS), (request) => {
      memory.giveBack(request.lines)
      request.reject(fail('unavailable', AWAY))
    })
  }, CHECK_MS).unref()

  const checkRoom = (brandId: string, bytes: number, beside?: HeldBytes): number => {
    if (closing) throw fail('unavailable', STOPPING)
    const since = performance.now()
    // Half of what is free at most, so that brands that fill the memory leave room for one that comes later.
    const room = Math.min(brandBytes, totalBytes - held.total - (beside?.total ?? 0))
    if (held.of(brandId) + (beside?.of(brandId) ?? 0) + bytes > room) throw fail('unavailable', BUSY)
    if (since - (queue.oldest(brandId)?.since ?? since) > MOST_WAIT_MS) throw fail('unavailable', BUSY)
    return since
  }

  const checkPages = (brandId: string, bytes: number, network: string) => {
    const ofNetwork = fromNetworks.of(network)
    // Of few bytes an eighth would be less than one body.
    const isLoud = ofNetwork > 0 && ofNetwork + bytes > brandBytes / 2 / 8
    const isOver = fromPages.of(brandId) + bytes > brandBytes / 2 || fromPages.total + bytes > totalBytes / 2
    if (isLoud || isOver) throw fail('unavailable', BUSY)
  }

  const expect = (brandId: string, bytes: number, network: string | undefined) => {
    expected.add(brandId, bytes)
    if (network === undefined) return
    fromPages.add(brandId, bytes)
    fromNetworks.add(network, bytes)
  }

  return {
    // Reads go on while the process lags: events can be sent again, a person waits.
    admit(brandId, body, network) {
      if (!shedder.takes(brandId)) throw fail('unavailable', BUSY)
      const bytes = Math.ceil(body * LINES_OF_BODY) + OVERHEAD_BYTES
      checkRoom(brandId, bytes, expected)
      if (network !== undefined) checkPages(brandId, bytes, network)
      expect(brandId, bytes, network)
      let kept = true
      return () => {
        if (kept) expect(brandId, -bytes, network)
        kept = false
      }
    },

    store(brandId, lines, events) {
      const bytes = lines.length + OVERHEAD_BYTES
      const since = checkRoom(brandId, bytes)
      held.add(brandId, bytes)
      // All requests of one turn of the event loop go together.
      if (!scheduled && free.length > 0) scheduled = setImmediate(pump) !== undefined
      return new Promise((resolve, reject) =>
        queue.push({ brandId, bytes, since, lines: memory.keep(lines), events, resolve, reject }),
      )
    },

    close() {
      closing ??= new Promise<void>((resolve) => {
        finished = resolve
        setImmediate(pump)
      }).then(async () => {
        clearInterval(expiry)
        stopWatching()
        for (const { compressor } of slots) compressor.close()
        await Promise.all(slots.map(({ writer }) => writer.close()))
      })
      return closing
    },
  }
}

/** Bytes that wait or are under way, by brand or network. */
class HeldBytes {
  readonly #bytes = new Map<string, number>()
  total = 0

  of(key: string): number {
    return this.#bytes.get(key) ?? 0
  }

  add(key: string, bytes: number): void {
    const now = this.of(key) + bytes
    this.total += bytes
    if (now === 0) this.#bytes.delete(key)
    else this.#bytes.set(key, now)
  }
}
