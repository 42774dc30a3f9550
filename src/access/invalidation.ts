import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import { errorFields, log, rareLog } from '../log.ts'
import { type Postgres, SESSION_OF, type Sql } from '../store/postgres.ts'
import { statement } from '../store/sqlfile.ts'
import { heldLease, type Lease } from './lease.ts'

/** A process that could not confirm for so long that it hears of changes goes by nothing that it has in memory. */
const LEASE_MS = 1_000
const RENEW_MS = 250
/** Beyond the lease: for clocks that run apart, and for a notification on its way. */
const MARGIN_MS = 250
/** A process that is not asked anything lets its lease end. */
const IDLE_MS = 60_000
/** A connection that has not answered for so long is given up for another one. */
const STUCK_MS = 5_000

/** It is tried again four times a second for as long as Postgres is away. */
const SAY_MS = 60_000

const LEAVE_MS = 1_000

/** Kinds of rows whose changes are announced. */
export type Announced = 'key' | 'brand' | 'user' | 'session' | 'grant' | 'provider'
type Forget = (kind: Announced, id: string) => void

export interface Invalidation {
  /** On what this process reads and keeps. */
  readonly lease: Lease
  /** Calls back for every row that changed; the memory of it has to go before the call returns. */
  onChange(forget: Forget): void
  /**
   * Resolves once no server process goes by what it read before the changes committed so far. Never fails, since these
   * have happened: where no process can be asked, it waits until none trusts anything from before.
   */
  everywhere(): Promise<void>
  close(): Promise<void>
}

/**
 * Hears of changes of keys and brands, and lets whoever makes one wait until all processes have taken note.
 *
 * A change notifies with its own commit (by triggers). Its maker then sends a fence, which every process on the list
 * acknowledges once it has handled all that came before. A process that does not, within the lease and a margin,
 * trusts nothing by then: its lease is renewed over the very connection that the notifications arrive on.
 */
export async function openInvalidation(postgres: Pick<Postgres, 'pool' | 'pipeline'>): Promise<Invalidation> {
  const id = randomUUID()
  const listeners: Forget[] = []
  const fences = createFences(postgres.pipeline)

  const heard = (channel: string, payload: string) => {
    const [first = '', second = ''] = payload.split(' ')
    if (channel === 'recoup_access_passed') fences.passed(first, second)
    else if (first === 'fence') connection.run('server_passed', [second, id]).catch(() => {})
    else for (const forget of listeners) forget(first as Announced, second)
  }
  const connection = createConnection(postgres, id, heard)
  await connection.open()

  return {
    lease: connection.lease,
    onChange: (forget) => void listeners.push(forget),
    everywhere: fences.pass,
    close: connection.close,
  }
}

function createFences(pipeline: Postgres['pipeline']) {
  const waiting = new Map<string, (processId: string) => void>()
  return {
    passed(fence: string, processId: string): void {
      waiting.get(fence)?.(processId)
    },

    async pass(): Promise<void> {
      const fence = randomUUID()
      const passed = new Set<string>()
      let listed: string[] | undefined
      const all = Promise.withResolvers<void>()
      const check = () => listed?.every((one) => passed.has(one)) && all.resolve()
      waiting.set(fence, (processId) => {
        passed.add(processId)
        check()
      })
      const patience = new AbortController()
      const { signal } = patience
      try {
        const most = LEASE_MS + MARGIN_MS
        const live = await pipeline
          .many<{ id: string }>('server_fence', [fence, most])
          .catch((error: unknown) => log('warn', 'fence_not_sent', errorFields(error)))
        listed = live?.map((one) => one.id)
        check()
        await Promise.race([all.promise, sleep(most, undefined, { signal })])
        const missing = listed?.filter((one) => !passed.has(one))
        if (missing?.length) log('warn', 'process_did_not_confirm', { processes: missing })
      } finally {
        patience.abort()
        waiting.delete(fence)
      }
    },
  }
}

type Options = postgres.Options<Record<string, postgres.PostgresType>>

/** The connection that a process listens on, and renews its lease over. */
function createConnection(
  postgres: Pick<Postgres, 'pool'>,
  id: string,
  onnotify: (channel: string, payload: string) => void,
) {
  const lease = heldLease(LEASE_MS)
  const said = rareLog(SAY_MS)
  let usedAt = performance.now()
  let closed = false
  let renewal: { since: number; done: Promise<void> } | undefined
  let sql = connect()

  function connect(): Sql {
    const options: Options & { onnotify: typeof onnotify } = {
      max: 1,
      idle_timeout: 0,
      max_lifetime: null,
      fetch_types: false,
      connection: { application_name: SESSION_OF.server },
      backoff: () => RENEW_MS / 1000,
      onclose: () => lease.lose(),
      // In the driver, though not in its types: its own `listen` uses it, but keeps the connection to itself.
      onnotify,
    }
    return postgres.pool(options)
  }

  const run = (name: string, args: string[]) =>
    sql.unsafe(statement('postgres', name), args, { prepare: true })

  async function renew(): Promise<void> {
    const sentAt = lease.mark()
    const [listed] = await run('server_renew', [id])
    if (closed) return
    if (listed) return lease.renewed(sentAt)
    // What was read before this connection listened is not covered.
    lease.lose()
    await sql`listen recoup_access`
    await sql`listen recoup_access_passed`
    await run('server_join', [id])
    await renew()
  }

  function tick(): Promise<void> {
    if (renewal && performance.now() - renewal.since < STUCK_MS) return renewal.done
    if (renewal) replace()
    const done = renew()
      .catch((error: unknown) => {
        if (!closed) said('warn', 'access_lease_not_renewed', errorFields(error))
      })
      .finally(() => {
        if (renewal?.done === done) renewal = undefined
      })
    renewal = { since: performance.now(), done }
    return done
  }

  function replace(): void {
    lease.lose()
    void sql.end({ timeout: 0 }).catch(() => {})
    sql = connect()
  }

  function used(): void {
    const now = performance.now()
    if (now - usedAt >= IDLE_MS) void tick()
    usedAt = now
  }

  const timer = setInterval(() => {
    if (performance.now() - usedAt < IDLE_MS) void tick()
  }, RENEW_MS)
  timer.unref()

  return {
    run,
    open: renew,
    lease: {
      mark: () => {
        used()
        return lease.mark()
      },
      covers: (mark: number) => {
        used()
        return lease.covers(mark)
      },
    },
    async close() {
      closed = true
      clearInterval(timer)
      lease.lose()
      // Unsaid when Postgres does not answer: the row is then too old to be waited for, a moment later.
      await Promise.race([
        run('server_leave', [id]).catch(() => {}),
        sleep(LEAVE_MS, undefined, { ref: false }),
      ])
      await sql.end({ timeout: 1 })
    },
  }
}
