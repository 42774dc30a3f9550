import { createHash } from 'node:crypto'
import { fail } from '../errors.ts'
import { errorFields, log } from '../log.ts'
import type { Op, Rate, Statements } from '../op.ts'
import { afterCall, type Bucket, bucketOf, waitOf } from './gcra.ts'
import { networkOf } from './network.ts'

/** Of operations without a limit of their own. */
const COMMON: Rate = { count: 100, per: 'second', burst: 200 }
/** Of browsers at the ingest and pixel routes, per shop and client address, of IPv6 its network. */
const COLLECT: Rate = { count: 50, per: 'second', burst: 100 }

/** Buckets that are not full, kept per process and kind; the oldest goes first, and is then full again. */
const MOST_BUCKETS = 50_000
const SWEEP_MS = 60_000

/** What has a limit: an operation, or what is counted like one. */
export type Counted = Pick<Op, 'name' | 'rate'>

export interface Limits {
  /**
   * Counts a call of an operation, by route or tool, by a credential; throws `rate_limited` with Retry-After.
   * A promise for the operations that have a limit of their own.
   */
  call(op: Counted, credential: string): void | Promise<void>
  /** The same, of whoever has no credential. */
  anonymous(op: Counted, address: string): void | Promise<void>
  /** Counts one of what has a limit under a key of its own; throws `rate_limited`. */
  shared(key: string, rate: Rate): Promise<void>
  /** Counts a request of a browser; throws `rate_limited`. */
  collect(shop: string, address: string): void
  /** Resolves when nothing is under way to Postgres. */
  settled(): Promise<void>
  close(): Promise<void>
}

/** `now` is in milliseconds and never goes back. */
export function createLimits(pipeline: Statements, now: () => number = () => performance.now()): Limits {
  const exact = createExact(pipeline, now)
  const common = createReported(pipeline, COMMON, now)
  // Of their own: addresses are many, and must not make those of credentials be forgotten.
  const anonymous = createReported(pipeline, COMMON, now)
  const collect = createReported(pipeline, COLLECT, now)
  const timer = setInterval(() => {
    pipeline.run('limit_sweep').catch((error) => log('warn', 'limits_not_swept', errorFields(error)))
  }, SWEEP_MS)
  timer.unref()
  const settled = async () => {
    await Promise.all([common.settled(), anonymous.settled(), collect.settled()])
  }

  const count = ({ name, rate }: Counted, who: string, buckets: Reported) => {
    const key = `${who} ${name}`
    if (rate) return exact(key, rate)
    const wait = buckets.take(key)
    if (wait > 0) throw limited(wait, COMMON)
  }

  return {
    call: (op, credential) => count(op, credential, common),
    anonymous: (op, address) => count(op, `address ${networkOf(address)}`, anonymous),
    shared: exact,
    collect: (shop, address) => {
      const wait = collect.take(`collect ${shop} ${networkOf(address)}`)
      if (wait > 0) throw limited(wait, COLLECT)
    },
    settled,
    close: async () => {
      clearInterval(timer)
      await settled()
    },
  }
}

function limited(waitMs: number, { count, per }: Rate) {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return fail('rate_limited', `At most ${count} requests per ${per}. Try again in ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
  })
}

/**
 * No wait is longer than for all that a bucket holds, or the clock of Postgres was set back: then the next sweep removes the
 * bucket.
 */
const bounded = (waitMs: number, { depth }: Bucket): number => Math.min(waitMs, depth)

/**
 * Buckets that lie in Postgres: exact over all processes, for a round trip per admitted call. Refused ones cost none
 * from the second on, since a bucket never fills sooner than it was said to.
 */
function createExact(pipeline: Statements, now: () => number) {
  const refusedUntil = new Map<string, number>()
  const take = async (key: string, rate: Rate): Promise<void> => {
    const until = refusedUntil.get(key) ?? 0
    if (until > now()) throw limited(until - now(), rate)
    const askedAt = now()
    const bucket = bucketOf(rate)
    const args = [hashOf(key), bucket.interval, bucket.depth]
    const answer = await pipeline.maybe<{ admitted: boolean; wait_ms: number }>('limit_take', args)
    if (answer?.admitted) return
    // Refused by what another call did while this one looked: only now it can be read.
    if (!answer || answer.wait_ms <= 0) return await take(key, rate)
    const wait = bounded(answer.wait_ms, bucket)
    remember(refusedUntil, key, askedAt + wait)
    throw limited(wait, rate)
  }
  return take
}

interface Kept {
  fullAt: number
  /** Calls admitted here that Postgres has not been told of. */
  unreported: number
  /** When Postgres would say that the bucket is full again if no other process reported calls of it. */
  expectedAt: number
}

/**
 * Buckets that every process keeps for itself, and reports to Postgres by the tenth of a burst to learn how many calls
 * the others admitted. No call waits for it. One process alone is exact; several together admit the exact rate and at
 * once, beyond the burst, at most a tenth of it each and what comes during a report.
 */
function createReported(pipeline: Statements, rate: Rate, now: () => number) {
  const bucket = bucketOf(rate)
  const reportAt = Math.ceil((rate.burst ?? rate.count) / 10)
  const kept = new Map<string, Kept>()
  const due = new Map<string, Kept>()
  let reporting: Promise<void> | undefined

  const reportAll = async (): Promise<void> => {
    // What becomes due in one turn of the event loop, or during a report, shares a statement.
    await new Promise(setImmediate)
    while (due.size > 0) await report()
  }

  const report = async (): Promise<void> => {
    const sent = [...due].map(([key, one]) => ({
      one,
      hash: hashOf(key),
      ms: one.unreported * bucket.interval,
    }))
    due.clear()
    for (const { one } of sent) one.unreported = 0
    const sentAt = now()
    const args = [sent.map(({ hash }) => hash), sent.map(({ ms }) => ms)]
    const rows = await pipeline.many<{ key: string; full_in_ms: number }>('limit_report', args)
    const fullIn = new Map(rows.map((row) => [row.key, row.full_in_ms]))
    for (const { one, hash, ms } of sent) {
      one.expectedAt = Math.max(one.expectedAt, sentAt) + ms
      const ofOthers = bounded(sentAt + (fullIn.get(hash) ?? 0) - one.expectedAt, bucket)
      if (ofOthers <= 0) continue
      one.fullAt = Math.max(one.fullAt, now()) + ofOthers
      one.expectedAt += ofOthers
    }
  }

  return {
    /** Milliseconds to wait; 0: admitted. */
    take(key: string): number {
      const at = now()
      let one = kept.get(key)
      if (!one) {
        one = { fullAt: 0, unreported: 0, expectedAt: 0 }
        remember(kept, key, one)
      }
      const wait = waitOf(bucket, one.fullAt, at)
      if (wait > 0) return wait
      one.fullAt = afterCall(bucket, one.fullAt, at)
      one.unreported++
      if (one.unreported >= reportAt) {
        due.set(key, one)
        reporting ??= reportAll()
          .catch((error) => log('warn', 'limits_not_reported', errorFields(error)))
          .finally(() => {
            reporting = undefined
          })
      }
      return 0
    },
    settled: async () => reporting,
  }
}

type Reported = ReturnType<typeof createReported>

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > MOST_BUCKETS && oldest !== undefined) map.delete(oldest)
}

/** Neither credentials nor addresses are stored. As Postgres shows a UUID. */
function hashOf(key: string): string {
  const hex = createHash('sha256').update(key).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  )
}
