import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { statement } from '../../store/sqlfile.ts'

export interface DemoOptions {
  customers: number
  days: number
  /** Same arguments, same rows. */
  seed: number
  /** Nothing happens after this instant. */
  endsAt: Date
  /** Made when absent; files of an earlier demo in it are replaced. */
  folder: string
  /** ISO 4217 code of every amount. */
  currency: string
  /** Origin of the storefront in page addresses. */
  storefront?: string
  /** Wanted mean over the store customers, visitors' events included; the result is within a few percent. */
  eventsPerCustomer?: number
  /** For DuckDB, such as '2GB'; what does not fit goes to the folder for a while. */
  memoryLimit?: string
  threads?: number
  /** Called with the finished share, from 0 to 1, and what is being made. */
  onProgress?: (share: number, what: string) => void
}

export const DEMO_FILES = ['products', 'customers', 'orders', 'checkouts', 'subscriptions', 'events'] as const
export type DemoFile = (typeof DEMO_FILES)[number]

export interface Demo {
  files: Record<DemoFile, string>
  counts: Record<DemoFile, number>
}

/** Statements in order of need, with their share of the time. */
const STEPS: readonly (readonly [name: string, share: number])[] = [
  ['words', 0],
  ['macros', 0],
  ['carts', 0],
  ['calendar', 0.02],
  ['products', 0.01],
  ['customers', 0.02],
  ['subscriptions', 0.01],
  ['orders', 0.1],
  ['paths', 0.01],
  ['sessions', 0.1],
  ['events', 0],
  ['properties', 0],
]

const FILE_SHARES: Record<DemoFile, number> = {
  products: 0,
  customers: 0.02,
  orders: 0.11,
  checkouts: 0.04,
  subscriptions: 0.01,
  events: 0.55,
}

/** Writes a believable store as Parquet files of the import format into a folder. */
export async function generateDemo(options: DemoOptions): Promise<Demo> {
  check(options)
  mkdirSync(options.folder, { recursive: true })
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: options.memoryLimit ?? '2GB',
    temp_directory: join(options.folder, '.spill'),
    ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
  })
  const connection = await instance.connect()
  try {
    return await write(connection, options)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

async function write(connection: DuckDBConnection, options: DemoOptions): Promise<Demo> {
  await setVariables(connection, options)
  let done = 0
  const step = async (what: string, share: number, text: string): Promise<number> => {
    options.onProgress?.(Math.min(1, done), what)
    const t = performance.now()
    const result = await connection.run(text)
    if (process.env.DEMO_TIMES) console.error(what, Math.round(performance.now() - t))
    done += share
    return Number((await result.getRows())[0]?.[0] ?? 0)
  }
  for (const [name, share] of STEPS) await step(name, share, statement('duckdb', `demo_${name}`))

  const files = {} as Record<DemoFile, string>
  const counts = {} as Record<DemoFile, number>
  for (const name of DEMO_FILES) {
    files[name] = join(options.folder, `${name}.parquet`)
    const target = files[name].replaceAll("'", "''")
    const rows = statement('duckdb', `demo_file_${name}`)
    counts[name] = await step(name, FILE_SHARES[name], `copy (\n${rows}\n) to '${target}' (format parquet, compression zstd)`.replace(/;\n\)/, '\n)'))
  }
  options.onProgress?.(1, 'done')
  return { files, counts }
}

async function setVariables(connection: DuckDBConnection, options: DemoOptions): Promise<void> {
  const { customers, days, seed, endsAt } = options
  const set = (name: string, expression: string, value: string | number) =>
    connection.run(`set variable ${name} = ${expression}`, [value])
  await connection.run("set TimeZone = 'UTC'")
  await set('seed', '$1::BIGINT', seed)
  await set('run', 'hash($1::VARCHAR)', `${seed} ${customers} ${days} ${endsAt.getTime()}`)
  await set('customers', '$1::BIGINT', customers)
  await set('wanted_events', '$1::DOUBLE', customers * (options.eventsPerCustomer ?? 18))
  await set('op_hours', '$1::BIGINT', days * 24)
  await set('ends_at', 'make_timestamp($1::BIGINT * 1000)', endsAt.getTime())
  // An hour free at the beginning: a purchase is placed by its end, and its first step comes up to 15 minutes before.
  await set('starts_at', 'make_timestamp($1::BIGINT * 1000)', endsAt.getTime() - days * 86_400_000 + 3_600_000)
  await set('currency', '$1::VARCHAR', options.currency)
  await set('storefront', '$1::VARCHAR', options.storefront ?? 'https://shop.example')
}

function check(options: DemoOptions): void {
  void options
}
