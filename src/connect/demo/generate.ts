import { mkdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fail } from '../../errors.ts'
import { type Duck, literal, openDuck } from '../../store/duckdb.ts'
import { statement } from '../../store/sqlfile.ts'
import { DAY_MS } from '../../time.ts'

export interface DemoOptions {
  /** Store customers; visitors who never say who they are come on top. */
  customers: number
  days: number
  seed: number
  /** Nothing happens after this instant. */
  endsAt: Date
  /** Made when absent; files of an earlier demo in it are replaced. */
  folder: string
  /** ISO 4217 code of every amount. */
  currency: string
  /** Origin of the storefront in page addresses. */
  storefront?: string
  /** Wanted mean over the store customers, events of visitors included; the result is within a few percent. */
  eventsPerCustomer?: number
  /** What does not fit goes to the folder for a while. A million customers took 4,000. */
  memoryMb?: number
  threads?: number
  /** Finished share from 0 to 1, and what is being made. */
  onProgress?: (share: number, what: string) => void
}

export const DEMO_FILES = ['products', 'customers', 'orders', 'checkouts', 'subscriptions', 'events'] as const
export type DemoFile = (typeof DEMO_FILES)[number]

export interface Demo {
  /** One Parquet file per kind. */
  files: Record<DemoFile, string>
  /** Rows in each. */
  counts: Record<DemoFile, number>
}

/** What is made before any file, in order of need, with its share of the time. */
const TABLES = {
  words: 0,
  macros: 0,
  carts: 0,
  calendar: 0.01,
  products: 0,
  customers: 0.01,
  subscriptions: 0,
  orders: 0.04,
  paths: 0,
  sessions: 0.1,
  events: 0.28,
  properties: 0,
} as const

const FILE_SHARES: Record<DemoFile, number> = {
  products: 0,
  customers: 0.02,
  orders: 0.12,
  checkouts: 0.04,
  subscriptions: 0,
  events: 0.38,
}

const HOUR_MS = 3_600_000
const PROGRESS_EVERY_MS = 500

/**
 * Writes the history of a believable store as Parquet files of the import format. The same customers, days, seed and
 * end give the same rows in the same order, whatever the number of threads and the memory.
 */
export async function generateDemo(options: DemoOptions): Promise<Demo> {
  check(options)
  const spill = join(options.folder, '.spill')
  mkdirSync(options.folder, { recursive: true })
  const duck = await openDuck({
    memoryMb: options.memoryMb ?? 2_000,
    threads: options.threads ?? availableParallelism(),
    tempDir: spill,
    counted: true,
  })
  try {
    await setVariables(duck, options)
    return await write(duck, options)
  } finally {
    duck.close()
    rmSync(spill, { recursive: true, force: true })
  }
}

async function write(duck: Duck, { folder, onProgress }: DemoOptions): Promise<Demo> {
  let done = 0
  const step = async <T>(what: string, share: number, work: () => Promise<T>): Promise<T> => {
    onProgress?.(done, what)
    const watch = setInterval(() => {
      const percent = Math.min(100, Math.max(0, duck.connection.progress.percentage))
      onProgress?.(done + (share * percent) / 100, what)
    }, PROGRESS_EVERY_MS)
    try {
      return await work()
    } finally {
      clearInterval(watch)
      done += share
    }
  }
  for (const [name, share] of Object.entries(TABLES)) {
    await step(name, share, () => duck.run(statement('duckdb', `demo_${name}`)))
  }
  const files = {} as Record<DemoFile, string>
  const counts = {} as Record<DemoFile, number>
  for (const name of DEMO_FILES) {
    files[name] = join(folder, `${name}.parquet`)
    const rows = statement('duckdb', `demo_file_${name}`).replace(/;$/, '')
    const copy = `copy (${rows}\n) to ${literal(files[name])} (format parquet, compression zstd)`
    const [written] = await step(name, FILE_SHARES[name], () => duck.rows<{ Count: number }>(copy))
    counts[name] = written?.Count ?? 0
  }
  onProgress?.(1, 'done')
  return { files, counts }
}

/** The statements read their arguments as DuckDB variables: constants to the planner, and unlike parameters usable in macros. */
async function setVariables(duck: Duck, options: DemoOptions): Promise<void> {
  const { customers, days, seed } = options
  const endsAt = options.endsAt.getTime()
  const set = (name: string, expression: string, value: string | number) =>
    duck.run(`set variable ${name} = ${expression}`, [value])
  await duck.run('set enable_progress_bar = true')
  await duck.run('set enable_progress_bar_print = false')
  await set('seed', '$1::BIGINT', seed)
  await set('run', 'hash($1::VARCHAR)', `${seed} ${customers} ${days} ${endsAt}`)
  await set('customers', '$1::BIGINT', customers)
  await set('wanted_events', '$1::DOUBLE', customers * (options.eventsPerCustomer ?? 18))
  await set('op_hours', '$1::BIGINT', days * 24)
  await set('ends_at', 'make_timestamp($1::BIGINT * 1000)', endsAt)
  // A free hour at the beginning: a purchase is placed by its end, and its first step comes up to 15 minutes before.
  await set('starts_at', 'make_timestamp($1::BIGINT * 1000)', endsAt - days * DAY_MS + HOUR_MS)
  await set('currency', '$1::VARCHAR', options.currency)
  await set('storefront', '$1::VARCHAR', options.storefront ?? 'https://shop.example')
}

function check({
  customers,
  days,
  seed,
  endsAt,
  currency,
  storefront,
  eventsPerCustomer = 18,
}: DemoOptions): void {
  const whole = (name: string, value: number, from: number, to: number) => {
    if (!Number.isInteger(value) || value < from || value > to) {
      throw fail('bad_request', `${name}: must be a whole number from ${from} to ${to}`)
    }
  }
  whole('customers', customers, 1, 10_000_000)
  whole('days', days, 1, 3_650)
  whole('seed', seed, 0, Number.MAX_SAFE_INTEGER)
  if (Number.isNaN(endsAt.getTime())) throw fail('bad_request', 'endsAt: must be a time')
  if (!/^[A-Z]{3}$/.test(currency))
    throw fail('bad_request', 'currency: must be a code of three capital letters')
  // Goes into JSON texts unescaped.
  if (storefront !== undefined && (!URL.canParse(storefront) || new URL(storefront).origin !== storefront)) {
    throw fail('bad_request', 'storefront: must be an origin, such as https://shop.example')
  }
  if (!(eventsPerCustomer >= 0 && eventsPerCustomer <= 1_000)) {
    throw fail('bad_request', 'eventsPerCustomer: must be a number from 0 to 1000')
  }
}
