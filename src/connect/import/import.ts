import { availableParallelism } from 'node:os'
import { fail } from '../../errors.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import type { Brand } from '../../op.ts'
import { type Duck, isOutOfMemory, type OwnDuck, openDuck } from '../../store/duckdb.ts'
import { statement } from '../../store/sqlfile.ts'
import { refuseAhead } from './ahead.ts'
import { findBroken } from './broken.ts'
import { pick } from './cast.ts'
import { loadEmails, loadPhones } from './channels.ts'
import { sizeChunks } from './chunks.ts'
import { importCustomers } from './customers.ts'
import { importEvents } from './events.ts'
import type { ImportRun, Written } from './file.ts'
import { importFolder } from './folder.ts'
import { makeIdMacros } from './ids.ts'
import { lineKeysUnread } from './line-keys.ts'
import {
  bindMapping,
  columnsUnread,
  type Mapped,
  type Mapping,
  mappingByName,
  readMapping,
} from './mapping.ts'
import { importOrders } from './orders.ts'
import { EXTRA, withExtra } from './properties.ts'
import { type Column, firstLine, openSource } from './read.ts'
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

/** Ids that say whose something is; customers and events that nothing says it of are rejected. */
const NAMING: Partial<Record<ImportKind, readonly string[]>> = {
  orders: ['customer_external_id'],
  refunds: ['order_external_id', 'customer_external_id'],
  checkouts: ['customer_external_id', 'anonymous_id'],
  subscriptions: ['customer_external_id'],
}

/** As stored, of what the file has; those of orders are already. */
const CHANNELS = [
  '(select address from email where given = ready.email)',
  '(select number from phone where given = ready.phone)',
]

async function countNameless(duck: Duck, kind: ImportKind, region: string): Promise<number> {
  const ids = NAMING[kind]
  if (!ids) return 0
  const channels = kind === 'orders' ? ['email', 'phone'] : CHANNELS
  if (channels === CHANNELS) {
    await loadEmails(duck)
    await loadPhones(duck, region)
  }
  const [row] = await duck.rows<{ nameless: number }>(
    `select count(*) as nameless from ready where coalesce(${[...ids, ...channels].join(', ')}) is null`,
  )
  return row?.nameless ?? 0
}

/** Makes `picked`, the rows as typed columns, and `fault`, what is wrong with some of them. */
async function readRows(duck: Duck, kind: ImportKind, { where }: Mapping, mapped: readonly Mapped[]) {
  const targets = kind === 'events' ? { ...TARGETS.events, [EXTRA.target]: EXTRA } : TARGETS[kind]
  const columns = kind === 'events' ? withExtra(mapped) : mapped
  try {
    await duck.run(pick({ into: 'picked', from: 'source', row: '__row', where, targets, mapped: columns }))
  } catch (cause) {
    if (isOutOfMemory(cause)) throw cause
    const message = `${await failingField(duck, columns, where)}${firstLine((cause as Error).message)}`
    const help =
      'An expression of the mapping fails on a value: map the column alone, whose bad values are rejected row by row, or use try_cast.'
    throw fail('bad_request', `${message} ${help}`, { cause })
  }
  await duck.run(statement('duckdb', 'import_faults'))
  await dropBlank(duck)
  const [counts] = await duck.rows<{ read: number; filtered: number }>(
    `select count(*) as read, ${where === undefined ? '0' : '(select count(*) from source) - count(*)'} as filtered from picked`,
  )
  return counts ?? { read: 0, filtered: 0 }
}

/** Rows without any value, which spreadsheets leave behind the last one, are none. */
async function dropBlank(duck: Duck): Promise<void> {
  const [fault] = await duck.rows('select 1 from fault limit 1')
  if (!fault) return
  await duck.run(`
    create table blank as
    select __row as n from source semi join fault on fault.n = __row
    where concat_ws('', *columns(* exclude (__row))) = '';
    delete from picked where n in (from blank);
    delete from fault where n in (from blank)`)
}

/** Which field of the mapping it is whose expression fails on a value, or `where`. */
async function failingField(
  duck: Duck,
  mapped: readonly Mapped[],
  where: string | undefined,
): Promise<string> {
  const expressions = mapped.map(({ target, expression }) => [`fields.${target}`, expression])
  for (const [place, expression] of [...(where === undefined ? [] : [['where', where]]), ...expressions])
    try {
      const asked = place === 'where' ? `case when (${expression}\n) then 1 end` : `(${expression}\n)`
      await duck.rows(`select count(hash(${asked})) from source`)
    } catch {
      return `${place}: `
    }
  return ''
}

async function shiftToNow(duck: Duck, kind: ImportKind): Promise<void> {
  const times = Object.keys(TARGETS[kind]).filter((name) => TARGETS[kind][name]?.type === 'time')
  await duck.run(`set variable shift_us = (
    select coalesce(${Date.now() * 1000} - max(epoch_us(greatest(${times.join(', ')}))), 0) from picked where fault is null)`)
  const moved = times.map((name) => `${name} = ${name} + to_microseconds(getvariable('shift_us')::bigint)`)
  await duck.run(`update picked set ${moved.join(', ')}`)
}
