import { type InstanceOptions, identifier, lockIn, openInstance } from './duckdb.ts'
import { type Duck, openLine, openLines } from './duckdb-line.ts'

/** What one user of a locked instance has to itself: a connection, and a database, which statements find their tables in. */
export interface Turn extends Duck {
  /** All of it is gone then, and what was attached. After a failure the instance is not to be used again. */
  end(): Promise<void>
}

/** An in-memory DuckDB instance that one user has after the other. */
export interface Turns {
  /** The signal interrupts the turn; the instance is not to be used after that. */
  begin(signal: AbortSignal | undefined): Promise<Turn>
  close(): void
}

export interface TurnsOptions extends InstanceOptions {
  /** All that can be read and written, from the first user on; default: no lock. */
  folder?: string
  /** Statements that set what cannot be set any more once it is locked. */
  settings: readonly string[]
}

export async function openTurns({ folder, settings, ...options }: TurnsOptions): Promise<Turns> {
  const instance = await openInstance(options)
  try {
    const first = await instance.connect()
    await first.run([`set global TimeZone = 'UTC'`, ...settings].join('; '))
    if (folder) await lockIn(first, [folder])
    first.closeSync()
  } catch (error) {
    instance.closeSync()
    throw error
  }
  const block = options.blockBytes ? ` (block_size ${options.blockBytes})` : ''
  return {
    begin: async (signal) => {
      const { line, close } = await openLines(async () => {
        const connection = await instance.connect()
        await connection.run(`attach ':memory:' as turn${block}; use turn`)
        return openLine(connection, 0)
      }, signal)
      return {
        ...line,
        end: async () => {
          try {
            const attached = await line.rows<{ name: string }>(
              `select database_name as name from duckdb_databases() where not internal and database_name != 'memory'`,
            )
            await line.run(
              ['use memory', ...attached.map(({ name }) => `detach ${identifier(name)}`)].join('; '),
            )
          } finally {
            close()
          }
        },
      }
    },
    close: () => instance.closeSync(),
  }
}
