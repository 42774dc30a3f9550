import { rmSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { fail } from '../errors.ts'
import type { Published } from '../op.ts'
import { type Duck, isBroken, makeSpillFolder, type OwnDuck, openDuck } from '../store/duckdb.ts'
import { brandFolder } from '../store/lake.ts'
import { attachGeneration, type Generation, tablePathsOf } from './generation.ts'
import { openLookUps } from './look-up.ts'
import type { Pipeline } from './pipeline.ts'
import { sortedViews } from './sorted.ts'
import { tooMuch } from './too-much.ts'

const MOST_MEMORY_MB = 256
/** Of an instance without any rows. */
const LEAST_MEMORY_MB = 8
/** A base of so many bytes is looked through by two threads: a sorted page of a million customers takes 15 ms, not 25. */
const LARGE_BYTES = 1 << 26
/** A join with so many rows finds the rows that it wants by their values, not by the least and the greatest. */
const PAGE_ROWS = 256
/** Statements of one connection that stay prepared. */
const KEPT_STATEMENTS = 32
/** Statements of a generation run one after the other: the last one's turn comes within seconds. */
const MOST_WAITING = 500
const RETRY_SECONDS = 2

const busy = () =>
  fail('unavailable', 'Too much is being read of this brand at once. Try again with backoff.', {
    headers: { 'retry-after': String(RETRY_SECONDS) },
  })

/** The open files of a generation. */
export interface OpenGeneration extends Pick<Published, 'of'> {
  /** Throws `unavailable` where too many wait. */
  rows: Duck['rows']
  /** That its tables may take; 0 as long as they are not opened. */
  readonly memoryMb: number
  close(): Promise<void>
}

interface Told {
  /** The tables are about to be opened. */
  onTables(): void
  /** They cannot be. */
  onBroken(): void
}

/** Opens the rows that are looked up; the tables, in a locked instance, for the first who asks them. */
export async function openGeneration(
  { lakeDir }: Pipeline,
  brandId: string,
  generation: Generation,
  { onTables, onBroken }: Told,
): Promise<OpenGeneration> {
  const lookUps = await openLookUps(lakeDir, generation)
  let memoryMb = 0
  let waiting = 0
  let opened: Promise<OwnDuck> | undefined
  const open = async () => {
    const bytes = await bytesOf(lakeDir, generation)
    memoryMb = Math.min(LEAST_MEMORY_MB + Math.ceil(bytes / 2 ** 20), MOST_MEMORY_MB)
    onTables()
    return await openTables(lakeDir, brandId, generation)
  }
  const tables = () => {
    opened ??= open()
    const duck = opened
    duck.catch(() => {
      onBroken()
      if (opened === duck) opened = undefined
    })
    return duck
  }
  const rows: Duck['rows'] = async (...asked) => {
    const duck = tables()
    const own = await duck
    try {
      return await own.rows(...asked)
    } catch (error) {
      if (isBroken(error) && opened === duck) {
        opened = undefined
        leave(own)
      }
      throw error
    }
  }
  return {
    get memoryMb() {
      return memoryMb
    },
    of: lookUps.of,
    rows: async (...asked) => {
      if (waiting >= MOST_WAITING) throw busy()
      waiting++
      try {
        return await rows(...asked)
      } catch (error) {
        return tooMuch(error)
      } finally {
        waiting--
      }
    },
    close: async () => {
      ;(await opened?.catch(() => undefined))?.close()
      await lookUps.close()
    },
  }
}

/** Closes it behind the statements that wait for their turn. */
const leave = (duck: OwnDuck) =>
  duck
    .run('select 1')
    .catch(() => {})
    .finally(duck.close)

async function bytesOf(lakeDir: string, generation: Generation): Promise<number> {
  const files = [...tablePathsOf(generation)].map((path) => stat(join(lakeDir, path)))
  return (await Promise.all(files)).reduce((sum, { size }) => sum + size, 0)
}

/** Where those of the base are whose rows are not in it any more. */
const REPLACED = `
  create table published.replaced_positions as
  select position from base.customers semi join changes.replaced using (customer) order by position`

async function openTables(lakeDir: string, brandId: string, generation: Generation): Promise<OwnDuck> {
  const { size } = await stat(join(lakeDir, generation.base_path))
  // One's own: instances name what they spill alike, and would read each other's.
  const tempDir = join(lakeDir, 'tmp', uuidv7())
  const duck = await openDuck({
    memoryMb: MOST_MEMORY_MB,
    threads: size < LARGE_BYTES ? 1 : 2,
    tempDir,
    keptStatements: KEPT_STATEMENTS,
  })
  const close = () => {
    duck.close()
    rmSync(tempDir, { recursive: true, force: true })
  }
  try {
    const stored = await attachGeneration({ duck, lakeDir }, generation)
    await duck.run(REPLACED)
    const views = sortedViews('published', 'base.customers').filter(({ name }) => !stored.has(name))
    await duck.run(views.map(({ name, select }) => `create view published.${name} as ${select};`).join('\n'))
    await duck.run('use published')
    await duck.run(`set dynamic_or_filter_threshold = ${PAGE_ROWS}`)
    await duck.lock([join(lakeDir, brandFolder(brandId))])
    return {
      ...duck,
      rows: (...asked) => {
        // What nobody changed for long is cleared away, and DuckDB does not make it twice.
        makeSpillFolder(tempDir)
        return duck.rows(...asked)
      },
      close,
    }
  } catch (error) {
    close()
    throw error
  }
}
