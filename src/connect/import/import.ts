import { availableParallelism } from 'node:os'
import { fail } from '../../errors.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import type { Brand } from '../../op.ts'
import { type Duck, isOutOfMemory, type OwnDuck, openDuck } from '../../store/duckdb.ts'
import { refuseAhead } from './ahead.ts'
import { findBroken } from './broken.ts'
import { sizeChunks } from './chunks.ts'
import { importCustomers } from './customers.ts'
import { importEvents } from './events.ts'
import type { ImportRun, Written } from './file.ts'
import { importFolder } from './folder.ts'
import { makeIdMacros } from './ids.ts'
import { lineKeysUnread } from './line-keys.ts'
import { bindMapping, columnsUnread, type Mapping, mappingByName, readMapping } from './mapping.ts'
import { countNameless } from './nameless.ts'
import { importOrders } from './orders.ts'
import { readRows } from './picked.ts'
import { type Column, openSource } from './read.ts'
import { importRecords } from './records.ts'
import { importRefunds } from './refunds.ts'
import { rejectsPath, writeRejects } from './rejects.ts'
import { type ImportKind, TARGETS } from './targets.ts'

export interface ImportOptions {
  pipeline: Pipeline
  brand: Brand
  kind: ImportKind
  /** CSV, NDJSON or Parquet. */
  file: string
  /** A mapping or the path of one; without it the columns that are named like targets are taken. */
  map?: string | Mapping
  /** Moves every time by what makes the last one of the file now. */
  shiftToNow?: boolean
  /** Default: beside the file, by its name, the shop and the kind. */
  rejectsFile?: string
  /** Of DuckDB; default 1,024. */
  memoryMb?: number
  onProgress?(done: number, total: number): void
}

export interface ImportResult {
  /** Rows read, without those that `where` left out. */
  read: number
  /** Orders, customers, events and so on that are new or changed: of several rows of one thing, one counts. */
  imported: number
  /** Those that were there already, that the file has an older version of, or that the store knows better; of events also repeats within the file. */
  unchanged: number
  /** Rows of events and customers left out, since they tell of persons who were erased; other kinds are kept as of nobody. */
  of_erased: number
  /** Rows refused; each is in the rejects file with its reason. */
  rejected: number
  rejects_file: string | null
  /** Rows that `where` left out. */
  filtered: number
  /** Those of imported and unchanged that name no customer. */
  without_customer: number
  /** Columns that nothing is imported from, and keys of nested lines (`lines[].key`). */
  ignored_columns: string[]
}

const IMPORTS: Record<ImportKind, (run: ImportRun) => Promise<Written>> = {
  orders: importOrders,
  refunds: importRefunds,
  customers: importCustomers,
  products: importRecords('product'),
  checkouts: importRecords('checkout'),
  subscriptions: importRecords('subscription'),
  events: importEvents,
}

const MEMORY_MB = 1024

/**
 * Imports a file into a brand: nothing bad is taken, nothing good is lost, and the same file again changes nothing.
 * It commits every 10,000 orders, customers or events (fewer of long ones, and beside a live store), so a killed import is finished by
 * running it again.
 */
export async function importFile(options: ImportOptions): Promise<ImportResult> {
  const { kind, file, memoryMb = MEMORY_MB } = options
  const read = typeof options.map === 'string' ? [file, options.map] : [file]
  const rejects = rejectsPath(options, options.rejectsFile, read)
  const threads = Math.min(4, availableParallelism())
  const folder = await importFolder()
  let duck: OwnDuck | undefined
  try {
    duck = await openDuck({ memoryMb, threads, tempDir: folder.path })
    await makeIdMacros(duck)
    const source = await openSource(duck, file)
    // Expressions of a mapping, which may be somebody else's, read nothing but the file.
    await duck.lock([folder.path], [...source.paths, rejects])
    const mapping = mappingFor(options, source.columns)
    const mapped = await bindMapping(duck, kind, source.columns, mapping)
    const counts = await readRows(duck, kind, mapping, mapped)
    await findBroken(duck, source)
    if (options.shiftToNow) await shiftToNow(duck, kind)
    else await duck.run('set variable shift_us = 0')
    await refuseAhead(duck, kind)

    const { pipeline, brand, onProgress = () => {} } = options
    const { postgres, storePlatformDomain } = pipeline
    const given = { source, file, mapping, mapped }
    const run = { pipeline, postgres, duck, brand, storePlatformDomain, ...given, onProgress }
    await sizeChunks(run)
    const written = await IMPORTS[kind](run)
    const rejected = await writeRejects(duck, source, rejects, () =>
      postgres.pipeline.run('rejects_add', [brand.id, rejects]),
    )
    const [broken] = await duck.rows<{ rows: number }>('select count(*) as rows from broken')
    return {
      read: counts.read + (broken?.rows ?? 0),
      ...written,
      rejected,
      rejects_file: rejected ? rejects : null,
      filtered: counts.filtered,
      without_customer: await countNameless(duck, kind, brand.default_phone_region),
      ignored_columns: [
        ...(await columnsUnread(duck, source.columns, mapped, mapping.where)),
        ...(await lineKeysUnread(duck, mapped)),
      ],
    }
  } catch (cause) {
    if (!isOutOfMemory(cause)) throw cause
    throw fail(
      'bad_request',
      `${file}: its rows need more memory than the ${memoryMb.toLocaleString('en')} MB that an import has. Split it into smaller files, all rows of one id in the same, and import one after the other.`,
      { cause },
    )
  } finally {
    duck?.close()
    await folder.remove()
  }
}

function mappingFor({ map, kind }: ImportOptions, columns: readonly Column[]): Mapping {
  if (map === undefined) return mappingByName(kind, columns)
  return typeof map === 'string' ? readMapping(map) : map
}

async function shiftToNow(duck: Duck, kind: ImportKind): Promise<void> {
  const times = Object.keys(TARGETS[kind]).filter((name) => TARGETS[kind][name]?.type === 'time')
  await duck.run(`set variable shift_us = (
    select coalesce(${Date.now() * 1000} - max(epoch_us(greatest(${times.join(', ')}))), 0) from picked where fault is null)`)
  const moved = times.map((name) => `${name} = ${name} + to_microseconds(getvariable('shift_us')::bigint)`)
  await duck.run(`update picked set ${moved.join(', ')}`)
}
