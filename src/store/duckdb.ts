import { mkdirSync } from 'node:fs'
import { DAY_MS, YEAR_10000 } from '../time.ts'
import { type DuckDBConnection, DuckDBInstance } from './duckdb-api.ts'
import { type Duck, openLine, openLines } from './duckdb-line.ts'

export { type Answer, type Duck, StatementFailed } from './duckdb-line.ts'

export interface InstanceOptions {
  memoryMb: number
  threads: number
  /** Folder that large operations spill to. */
  tempDir: string
  /** Bytes that a column of a table takes at least. Default: those that suit tables of many rows. */
  blockBytes?: number
}

export interface DuckOptions extends InstanceOptions {
  /** How far a statement is can be asked of the connection. It is worked out so often that some take a tenth longer. */
  counted?: boolean
  /**
   * So many statements with values stay prepared, those used last: for an instance that is asked the same again and again,
   * and none of whose tables changes any more. A plan goes by the statistics of when it was made: over a table that
   * was emptied and filled again one counted 0 of 2,000 rows.
   */
  keptStatements?: number
  /** Interrupts the statement that runs; those that follow fail, too. */
  signal?: AbortSignal | undefined
}

/** An instance of one's own, with one connection. */
export interface OwnDuck extends Duck {
  /** From here on nothing but these folders and files can be read or written, and no setting changed. */
  lock(folders: readonly string[], files?: readonly string[]): Promise<void>
  /** Another connection, to be opened before `lock`: its statements wait for none of the others. */
  beside(): Promise<Pick<Duck, 'run' | 'rows'>>
  close(): void
}

export async function openDuck(options: DuckOptions): Promise<OwnDuck> {
  const { counted = false, keptStatements = 0, signal } = options
  const instance = await openInstance(options)
  const { line, open, close } = await openLines(async () => {
    const connection = await instance.connect()
    await connection.run(`set TimeZone = 'UTC'`)
    return openLine(connection, keptStatements)
  }, signal)
  const { connection } = line
  if (counted) await connection.run('set enable_progress_bar = true; set enable_progress_bar_print = false')
  return {
    ...line,
    beside: open,
    lock: (folders, files) => line.inOrder(() => lockIn(connection, folders, files)),
    close: () => {
      close()
      instance.closeSync()
    },
  }
}

/**
 * Makes the folder that queries spill into. Where none can be made, as on a disk that is full or read-only, what fits into
 * memory is read all the same.
 */
export function makeSpillFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch {}
}

export async function openInstance({ memoryMb, threads, tempDir, blockBytes }: InstanceOptions) {
  makeSpillFolder(tempDir)
  return await DuckDBInstance.create(':memory:', {
    memory_limit: `${memoryMb}MB`,
    threads: String(threads),
    temp_directory: tempDir,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    ...(blockBytes && { default_block_size: String(blockBytes) }),
  })
}

export async function lockIn(
  connection: DuckDBConnection,
  folders: readonly string[],
  files: readonly string[] = [],
): Promise<void> {
  const directories = folders.map((folder) => literal(`${folder.replace(/\/$/, '')}/`)).join(', ')
  const paths = files.map(literal).join(', ')
  await connection.run(
    `set allowed_directories = [${directories}]; set allowed_paths = [${paths}]; set enable_external_access = false; set lock_configuration = true`,
  )
}

/**
 * True of every number, which DuckDB does not see. A scan is handed the keys of the join that narrows it only where the
 * keys are filtered: without, it reads all other columns of all rows.
 */
export const anyNumber = (column: string) => `${column} % 1 = 0`

/** After these the instance answers nothing any more. */
export const isBroken = (error: unknown): boolean =>
  error instanceof Error && /^(INTERNAL|FATAL) Error/.test(error.message)

export const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('Out of Memory Error')

export const isOfDisk = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('IO Error')

/** A string as a SQL literal, for the places that take no parameter: paths and settings. */
export const literal = (value: string) => `'${value.replaceAll("'", "''")}'`

/** Date.UTC takes years below 100 for those of the 20th century. */
const YEAR_1 = Date.parse('0001-01-01')

/** An instant, or so many × 24 hours before it, as a constant: a difference is worked out anew wherever it stands. */
export function instant(at: Date, lessDays = 0): string {
  const less = Math.trunc(lessDays)
  const earlier = Number(at) - less * DAY_MS
  return earlier >= YEAR_1 && earlier < YEAR_10000
    ? `timestamp ${literal(new Date(earlier).toISOString())}`
    : `(timestamp ${literal(at.toISOString())} - to_days(${less}))`
}

/** A name as a quoted SQL identifier. */
export const identifier = (name: string) => `"${name.replaceAll('"', '""')}"`
