import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode, isUnavailable } from '../errors.ts'
import { errorFields, log } from '../log.ts'
import connect, { type Watched } from './driver.ts'
import { statement } from './sqlfile.ts'

export interface SilenceTimes {
  /** A statement that has waited so long without a byte is asked after. */
  silentMs: number
  /** So often that is looked at. */
  lookMs: number
  /** After so long in which nobody answers a new connection, what is silent is given up. */
  awayMs: number
  /** Postgres answers within so long. */
  askMs: number
}

const TIMES: SilenceTimes = { silentMs: 10_000, lookMs: 5_000, awayMs: 20_000, askMs: 5_000 }

/** What a look found, of a silence that began at `heard`. */
interface Doubt {
  heard: number
  unsent: number
  /** Since when Postgres could not be asked. */
  awaySince: number | null
}

/**
 * Ends connections that Postgres, its host or what lies between has forgotten: TCP alone takes a quarter of an hour for
 * that, in which all statements queue behind them. Postgres is asked over a new connection what it is at, so a statement
 * that takes long is never cut. The statements of what is ended fail with CONNECTION_CLOSED.
 */
export function watchSilence(url: string, times: Partial<SilenceTimes> = {}) {
  const { silentMs, lookMs, awayMs, askMs } = { ...TIMES, ...times }
  const connections = new Set<Watched>()
  let doubts = new Map<Watched, Doubt>()
  let looking = false

  async function look(): Promise<void> {
    const since = performance.now() - silentMs
    const silent = [...connections].filter((one) => one.waits() && one.heard <= since)
    const heardOf = new Map(silent.map((one) => [one, one.heard]))
    const found = new Map<Watched, Doubt>()
    for (const some of Map.groupBy(silent, placeOf).values()) {
      const atWork = await askAfter(url, some, askMs)
      for (const one of some) {
        const heard = heardOf.get(one) as number
        if (one.heard !== heard || !one.waits() || (atWork !== 'away' && atWork.has(one.session().pid)))
          continue
        // What is sent for long is taken by somebody as long as it gets less.
        const unsent = one.unsent()
        const last = doubts.get(one)
        const before = last?.heard === heard && last.unsent === unsent ? last : undefined
        const now = performance.now()
        const awaySince = atWork === 'away' ? (before?.awaySince ?? now) : null
        // Its answer may have been on the way when Postgres was asked: it is the next time that counts.
        const isLost = awaySince === null ? before?.awaySince === null : now - awaySince >= awayMs
        if (isLost) drop(one, awaySince !== null)
        else found.set(one, { heard, unsent, awaySince })
      }
    }
    doubts = found
  }

  function drop(lost: Watched, isAway: boolean): void {
    const { heard } = lost
    const { pid } = lost.session()
    const silentFor = Math.round(performance.now() - heard)
    log('warn', 'connection_lost', { pid, silent_ms: silentFor, postgres_away: isAway })
    lost.drop()
    // Those that have nothing to do and said nothing since then would each hold up the next statement as long.
    for (const one of connections) if (one.heard < heard) one.dropIdle()
  }

  const timer = setInterval(() => {
    if (looking) return
    looking = true
    look()
      .catch((error: unknown) => log('error', 'silence_not_seen', errorFields(error)))
      .finally(() => {
        looking = false
      })
  }, lookMs)
  timer.unref()

  return { connections, stop: () => clearInterval(timer) }
}

const placeOf = (one: Watched) => {
  const { host, port } = one.session()
  return `${host} ${port}`
}

/** Who of them is at work, as far as is known; `away` when nobody answers. */
async function askAfter(
  url: string,
  some: readonly Watched[],
  askMs: number,
): Promise<'away' | { has(pid: number): boolean }> {
  const sessions = some.map((one) => one.session())
  const { host, port } = sessions[0] as ReturnType<Watched['session']>
  const sql = connect(url, {
    ...here(host, port),
    max: 1,
    connect_timeout: askMs / 1000,
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: 'recoup', statement_timeout: askMs },
  })
  const over = new AbortController()
  const late = sleep(askMs, 'away' as const, { signal: over.signal, ref: false })
  const asked = sql
    .unsafe(statement('postgres', 'sessions_at_work'), [`{${sessions.map(({ pid }) => pid)}}`])
    .then((rows) => {
      const atWork = new Set(rows.map(({ pid }) => pid as number))
      // What has connections of its own to Postgres, in between, tells clients other numbers.
      return atWork.has(rows.state.pid) ? atWork : ALL
    })
  try {
    return await Promise.race([asked, late])
  } catch (error) {
    return nobodyAnswered(error) ? 'away' : ALL
  } finally {
    over.abort()
    void sql.end({ timeout: 0 }).catch(() => {})
  }
}

/** The one of several hosts that the connection is to; the types know no list, which alone may be an IPv6 address. */
const here = (host?: string, port?: number) =>
  host && port ? ({ host: [host], port: [port] } as object) : {}

const ALL = { has: () => true }

/** Of a connection; Postgres itself would have said something with a SQLSTATE. */
const nobodyAnswered = (error: unknown) => isUnavailable(error) && /^[A-Z_]{5,}$/.test(errorCode(error) ?? '')
