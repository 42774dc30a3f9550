import { setTimeout as pause } from 'node:timers/promises'
import { errorCode, fail, isCancelled, isOvertaken, isPassing } from '../errors.ts'
import { errorFields, log } from '../log.ts'
import type { Postgres, Sql } from '../store/postgres.ts'
import { statement } from '../store/sqlfile.ts'

/** One row of event_log. Its id and time are made once, so that sending it again is a no-op. */
export interface LogBatch {
  id: string
  receivedAt: Date
  events: number
  /** zstd of NDJSON. */
  payload: Buffer
}

/** Thrown when it is not known whether a batch was committed: the connection was lost and Postgres stayed away. */
export class Unsettled extends Error {}

/** A dedicated connection that commits one batch at a time. */
export interface LogWriter {
  /**
   * Resolves once the batch is committed. A lost connection is settled by sending the same batch again; fails with
   * `unavailable` when it is known by the deadline (performance.now()) that nothing was committed, else Unsettled.
   */
  append(batch: LogBatch, deadline: number): Promise<void>
  close(): Promise<void>
}

const STATEMENT_MS = 5_000
const RETRY_MS = 50
/** How long before the deadline a statement is cancelled. */
const CANCEL_MS = 500

/** Refuses a Postgres whose commits can be lost: an acknowledgement would then be a promise that nobody keeps. */
export async function checkDurability(postgres: Postgres): Promise<void> {
  const { fsync } = await postgres.pipeline.one<{ fsync: boolean }>('event_log_durability')
  if (!fsync) {
    throw new Error(
      'Postgres runs with fsync off, so acknowledged events could be lost. Set fsync = on and reload it.',
    )
  }
}

export function openLogWriter(postgres: Postgres): LogWriter {
  const connect = () =>
    postgres.pool({
      max: 1,
      idle_timeout: 0,
      fetch_types: false,
      connection: { statement_timeout: STATEMENT_MS },
    })
  let sql = connect()

  // A client of its own per attempt after a failure: the driver's would wait up to 20 s to connect again, and one
  // whose socket is dead would hold every later batch.
  const renew = () => {
    void sql.end({ timeout: 0 }).catch(() => {})
    sql = connect()
  }

  return {
    async append(batch, deadline) {
      let mayBeCommitted = false
      for (;;) {
        try {
          await settled(insert(sql, batch), deadline)
          return
        } catch (error) {
          renew()
          mayBeCommitted ||= leavesOpen(error)
          const retries =
            (isPassing(error) || isOvertaken(error)) &&
            errorCode(error) !== DISK_FULL &&
            performance.now() + RETRY_MS < deadline - CANCEL_MS
          if (!retries) throw given(error, batch, mayBeCommitted)
        }
        await pause(RETRY_MS)
      }
    },
    close: () => sql.end({ timeout: 1 }),
  }
}

const insert = (sql: Sql, { receivedAt, id, events, payload }: LogBatch) =>
  sql.unsafe(statement('postgres', 'event_log_append'), [receivedAt, id, events, payload], { prepare: true })

/** Waits until the deadline. Shortly before it a cancel is sent, so that a Postgres that answers says how it ended. */
async function settled(query: ReturnType<typeof insert>, deadline: number): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const left = deadline - performance.now()
  const canceller = setTimeout(() => cancel(query), left - CANCEL_MS)
  const timer = setTimeout(
    () => reject(Object.assign(new Error('no answer from Postgres'), { code: 'ETIMEDOUT' })),
    left,
  )
  try {
    await Promise.race([query, late])
  } finally {
    clearTimeout(canceller)
    clearTimeout(timer)
  }
}

/** As the driver's own cancel(), which drops a promise whose rejection would end the process. */
function cancel(query: object): void {
  const { canceller } = query as { canceller: ((query: object) => Promise<void>) | null }
  canceller?.(query).catch(() => {})
}

/** Not worth another attempt within seconds; who waits longer holds memory and learns no more. */
const DISK_FULL = '53100'

/** Codes of a statement that was never sent, since its connection was not made. */
const NEVER_DONE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|28|3D|53300|57P03)/

/**
 * Whether the failed attempt can have been committed all the same. An ERROR aborts its transaction; but a connection
 * can end, also by FATAL, between the commit and its reply.
 */
const leavesOpen = (error: unknown) =>
  !NEVER_DONE.test(errorCode(error) ?? '') &&
  !isCancelled(error) &&
  (error as { severity?: unknown }).severity !== 'ERROR'

function given(error: unknown, batch: LogBatch, mayBeCommitted: boolean): unknown {
  const expected = isPassing(error)
  log(expected ? 'warn' : 'error', 'batch_not_stored', {
    batch_id: batch.id,
    events: batch.events,
    known: !mayBeCommitted,
    ...errorFields(error),
  })
  if (mayBeCommitted) return new Unsettled('The outcome of a batch is not known.', { cause: error })
  if (!expected) return error
  return fail(
    'unavailable',
    'The events could not be stored now. Nothing was accepted; send the whole batch again.',
  )
}
