import { setTimeout as pause } from 'node:timers/promises'
import { errorCode, fail, isUnavailable } from '../errors.ts'
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
      connection: { synchronous_commit: 'on', statement_timeout: STATEMENT_MS },
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
          await within(deadline, insert(sql, batch))
          return
        } catch (error) {
          renew()
          mayBeCommitted ||= leavesOpen(error)
          const retries = isUnavailable(error) && performance.now() + RETRY_MS < deadline
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

/** Fails at the deadline; what was started goes on unseen. */
async function within(deadline: number, work: PromiseLike<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(Object.assign(new Error('no answer from Postgres'), { code: 'ETIMEDOUT' })),
    deadline - performance.now(),
  )
  try {
    await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Errors of a connection that was never made: nothing was sent. */
const NOT_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|28|3D|53300|57P03)/

/**
 * Whether the failed attempt can have been committed all the same. An ERROR aborts its transaction; but the end of a
 * connection, also by FATAL, and a cancel can arrive between the commit and its reply.
 */
function leavesOpen(error: unknown): boolean {
  const code = errorCode(error) ?? ''
  if (NOT_CONNECTED.test(code)) return false
  const severity = (error as { severity?: unknown }).severity
  return severity !== 'ERROR' || code.startsWith('57')
}

function given(error: unknown, batch: LogBatch, mayBeCommitted: boolean): unknown {
  log('error', 'batch_not_stored', {
    batch_id: batch.id,
    events: batch.events,
    settled: !mayBeCommitted,
    ...errorFields(error),
  })
  if (mayBeCommitted) return new Unsettled('The outcome of a batch is not known.', { cause: error })
  if (!isUnavailable(error)) return error
  return fail(
    'unavailable',
    'The events could not be stored now. Nothing was accepted; send the whole batch again.',
  )
}
