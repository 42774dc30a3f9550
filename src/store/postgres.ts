import type postgres from 'postgres'
import { noSuchRecord } from '../errors.ts'
import type { Db, Statements } from '../op.ts'
import connect, { type Watched } from './driver.ts'
import { inBrandAtOnce, setsBrand } from './one-trip.ts'
import { type SilenceTimes, watchSilence } from './silence.ts'
import { statement } from './sqlfile.ts'

export type Sql = postgres.Sql
export type Transaction = postgres.TransactionSql

/** The pools of one process. `app` is walled in by row-level security; `pipeline` and `owner` are cross-brand. */
export interface Postgres {
  readonly url: string
  /** Statements of one brand as the role that cannot see another. */
  forBrand(brandId: string): Db
  /** Cross-brand statements (planner, snapshot, retention, key look-up). */
  readonly pipeline: Db
  /** Raw access as the pipeline role, for COPY, LISTEN and set-based work. */
  readonly sql: Sql
  /** A pool of its own with other settings, as the pipeline role; the caller ends it. */
  pool(options: Options): Sql
  close(): Promise<void>
}

type Options = postgres.Options<Record<string, postgres.PostgresType>>

const POOL: Options = {
  max: 8,
  idle_timeout: 60,
  connect_timeout: 5,
  max_lifetime: 3600,
  // After an outage the driver would wait up to 20 s before it connects again, with queries hanging meanwhile.
  backoff: (attempt: number) => Math.min(0.05 * attempt, 1),
  onnotice: () => {},
  types: {
    // Counts, ticks and ids of ours stay far below 2^53; numeric (money) stays text.
    bigint: { to: 20, from: [20], parse: Number, serialize: String },
    // A time that a cursor has as text is sent as it is: a Date has no microseconds, so rows would be left out.
    date: {
      to: 1184,
      from: [1082, 1114, 1184],
      parse: (text: string) => new Date(text),
      serialize: (time: Date | string | number) =>
        typeof time === 'string' && EXACT.test(time) ? time : new Date(time).toISOString(),
    },
  },
}

/**
 * What a process that is frozen, or whose host is gone, leaves open ends by itself: a transaction that wrote holds back the
 * lake of all brands and what others wait for. None of ours says nothing for longer than seconds.
 */
const LEFT_OPEN = {
  idle_in_transaction_session_timeout: 30_000,
  // In seconds.
  tcp_keepalives_idle: 20,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 4,
}

/** A UTC time with microseconds, as statements give it. */
const EXACT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

/** Names of sessions that say what runs: of the connection that each server listens on, and of those of workers. */
export const SESSION_OF = { server: 'recoup server', worker: 'recoup jobs' } as const

export function openPostgres(
  url: string,
  { silence, ...options }: { max?: number; silence?: Partial<SilenceTimes> } = {},
): Postgres {
  const { connections: watched, stop } = watchSilence(url, silence)
  const pool = (role: string, more: Options = {}) => {
    // In the driver as it is mended, though not in its types.
    const all: Options & { watched: Set<Watched> } = {
      ...POOL,
      ...options,
      ...more,
      watched,
      // What is acknowledged is on disk, whatever the database or the role says by itself.
      connection: {
        ...LEFT_OPEN,
        application_name: 'recoup',
        role,
        synchronous_commit: 'on',
        ...more.connection,
      },
    }
    return connect(url, all)
  }
  const app = pool('recoup_app', {
    connection: { statement_timeout: 30_000, idle_in_transaction_session_timeout: 10_000 },
  })
  const pipeline = pool('recoup_pipeline')

  return {
    url,
    forBrand: (brandId) => ({
      ...statements((text, args) =>
        setsBrand(text)
          ? app.unsafe(text, [brandId, ...args] as never[], PREPARED)
          : inBrandAtOnce(app, brandId, text, [brandId, ...args]),
      ),
      tx: (work) =>
        inBrand(app, brandId, (tx) =>
          work(statements((text, args) => tx.unsafe(text, [brandId, ...args] as never[], PREPARED))),
        ) as never,
    }),
    pipeline: {
      ...statements((text, args) => pipeline.unsafe(text, args as never[], PREPARED)),
      tx: (work) =>
        pipeline.begin((tx) =>
          work(statements((text, args) => tx.unsafe(text, args as never[], PREPARED))),
        ) as never,
    },
    sql: pipeline,
    pool: (more) => pool('recoup_pipeline', more),
    close: async () => {
      stop()
      await Promise.all([app.end({ timeout: 5 }), pipeline.end({ timeout: 5 })])
    },
  }
}

const PREPARED = { prepare: true } as const

type Rows = Record<string, unknown>[] & { count: number }
type Execute = (text: string, args: unknown[]) => PromiseLike<unknown>

/** Statements by name; `execute` runs the text of one. */
export function statements(execute: Execute): Statements {
  const rowsOf = async (name: string, args: unknown[] = []) =>
    (await execute(statement('postgres', name), args)) as Rows
  return {
    many: async (name, args) => [...(await rowsOf(name, args))] as never,
    maybe: async (name, args) => (await rowsOf(name, args))[0] as never,
    one: async (name, args) => {
      const [row] = await rowsOf(name, args)
      if (!row) throw noSuchRecord()
      return row as never
    },
    run: async (name, args) => (await rowsOf(name, args)).count,
  }
}

/** The brand holds for the transaction only, so a pooled connection never carries it on. */
function inBrand<T>(app: Sql, brandId: string, work: (tx: Transaction) => PromiseLike<T>): Promise<T> {
  return app.begin(async (tx) => {
    const set = tx`select set_config('app.brand', ${brandId}, true)`.execute()
    // Awaited together: work that fails before the answer to `set` would be a rejection that nobody handles.
    const [result] = await Promise.all([work(tx), set])
    return result
  }) as Promise<T>
}
