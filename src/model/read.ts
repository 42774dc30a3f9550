import { basename, join } from 'node:path'
import { identifier, isOfDisk, isOutOfMemory } from '../store/duckdb.ts'
import { type DuckDBConnection, DuckDBInstance } from '../store/duckdb-api.ts'
import { interrupted } from '../store/duckdb-line.ts'
import type { Columns, Model } from './graph.ts'
import { readHeader } from './header.ts'
import { rowsFrom } from './hollow.ts'
import { didYouMean } from './nearest.ts'
import { ORDER_PRODUCTS, withProductsOfLines } from './order-products.ts'
import { isOwn } from './own.ts'
import { naming } from './run.ts'
import { readSelect } from './select.ts'
import { createEmptySources, SOURCES } from './source.ts'

/** A file of the folder of models, by its path there; an error where it cannot be read. */
export type ModelFile = readonly [path: string, text: string | Error]

export interface Reading {
  /** Those that can be run, each after those that it reads. */
  models: Model[]
  /** Why the others cannot, by name: what is wrong with their files, or with those of models that they read. */
  broken: ReadonlyMap<string, Error>
  /** Memory, disk or time was short for one of these: the same files may be read a while later. */
  isPassing: boolean
}

/** What the header of a mart says that is not stored. */
const AT_EVERY_READ = 'at every read'

/** What marts of sales are made of, beside each other. Of customers they read what follows from sales and profiles. */
const OF_SALES: ReadonlySet<string> = new Set([
  'stg_orders',
  'stg_refunds',
  'stg_products',
  'customers',
  'params',
])

/** Relations that are no models. */
const GIVEN: ReadonlySet<string> = new Set([...SOURCES, 'params'])

/** Reads the models of a folder; errors name the file. */
export async function readModels(files: readonly ModelFile[], folder: string): Promise<Reading> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  try {
    const models = new Map<string, Model>()
    const broken = new Map<string, Error>()
    const names = new Set([...GIVEN, ...files.map(([path]) => basename(path, '.sql'))])
    for (const [path, text] of files) {
      const name = basename(path, '.sql')
      try {
        checkName(join(folder, path), name, models.get(name), names)
        await checkWord(connection, join(folder, path), name)
        models.set(name, await readModel(connection, folder, path, text))
      } catch (error) {
        broken.set(name, error as Error)
      }
    }
    if (!broken.has(ORDER_PRODUCTS)) withProductsOfLines(models)
    const ordered = inOrder(models, broken)
    await bind(connection, ordered, broken)
    return {
      models: ordered.filter(({ name }) => !broken.has(name)),
      broken,
      isPassing: [...broken.values()].some(isPassing),
    }
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

async function readModel(
  connection: DuckDBConnection,
  folder: string,
  path: string,
  content: string | Error,
): Promise<Model> {
  const file = join(folder, path)
  if (content instanceof Error) throw new Error(`${file}: ${content.message}`, { cause: content })
  const text = content.replace(/[\s;]+$/, '').trimStart()
  const header = readHeader(file, text)
  const { reads, columnsNamed } = await readSelect(connection, file, text)
  // So others read it.
  await readSelect(connection, file, `from (\n${text}\n)`).catch((cause) => {
    throw new Error(`${file}: a model ends with its SELECT: leave out the ";" and what stands behind it`, {
      cause,
    })
  })
  if (!columnsNamed) throw new Error(`${file}: the last select has a *; name its columns`)
  if (header.from?.where !== undefined) {
    const asked = await readSelect(connection, fromOf(file), rowsFrom(header.from))
    const other = asked.reads.find((name) => name !== header.from?.relation)
    if (other) throw new Error(`${file}: the condition of header key "from" reads "${other}", too`)
  }
  const layer = path.startsWith('staging/') ? 'staging' : 'mart'
  const stored = layer === 'mart' && header.refresh !== AT_EVERY_READ
  return { name: basename(path, '.sql'), file, layer, stored, sql: text, reads, columns: [], ...header }
}

/** Where what is wrong with its condition stands. */
const fromOf = (file: string) => `${file}: header key "from"`

function checkName(file: string, name: string, taken: Model | undefined, names: ReadonlySet<string>): void {
  if (!/^[a-z][a-z0-9_]*$/.test(name))
    throw new Error(`${file}: a model's file name is snake_case, as its relation`)
  if (taken) throw new Error(`${file}: a model named "${name}" exists already in ${taken.file}`)
  if (GIVEN.has(name)) throw new Error(`${file}: "${name}" is the name of a source`)
  if (isOwn(name, (other) => names.has(other)))
    throw new Error(`${file}: "${name}" is the name of a relation that refreshes make`)
}

/** Words of SQL that stand for no relation without quotes. */
async function checkWord(connection: DuckDBConnection, file: string, name: string): Promise<void> {
  try {
    await connection.run(`create table ${name} as select 1 as x; from ${name}; drop table ${name}`)
  } catch (cause) {
    throw new Error(`${file}: "${name}" is a word of SQL; name the model by another`, { cause })
  }
}

function checkReads(
  model: Model,
  models: ReadonlyMap<string, Model>,
  broken: ReadonlyMap<string, Error>,
): void {
  const known = [...models.keys(), 'params', ...(model.layer === 'staging' ? SOURCES : [])]
  for (const name of model.reads) {
    if (known.includes(name)) continue
    if (SOURCES.includes(name))
      throw new Error(
        `${model.file}: "${name}" is a source, with test orders, merged customers and rows after as_of; ` +
          `read its staging model instead`,
      )
    if (!broken.has(name)) throw new Error(`${model.file}: no relation "${name}".${didYouMean(name, known)}`)
  }
  for (const name of model.by ? model.reads : []) {
    const upstream = models.get(name)
    if (upstream?.layer === 'mart' && !upstream.by)
      throw new Error(`${model.file}: is by customer, but reads "${name}", which is not`)
  }
  for (const name of model.of ? model.reads : [])
    if (!OF_SALES.has(name) && !broken.has(name) && !models.get(name)?.of)
      throw new Error(`${model.file}: is of sales, but reads "${name}", which is not`)
  const { relation, where } = model.from ?? {}
  if (relation !== undefined && !model.reads.includes(relation))
    throw new Error(`${model.file}: header key "from" names what the model reads, not "${relation}"`)
  if (relation !== undefined && where !== undefined && !SOURCES.includes(relation))
    throw new Error(
      `${model.file}: header key "from" has a condition on a source only, which "${relation}" is not`,
    )
}

/** Depth first by name, so that the order is the same on every machine. Adds what is wrong to `broken`. */
function inOrder(models: ReadonlyMap<string, Model>, broken: Map<string, Error>): Model[] {
  const ordered = new Set<Model>()
  const visit = (model: Model, path: string[]): void => {
    if (ordered.has(model)) return
    const start = path.indexOf(model.name)
    if (start >= 0)
      throw new Error(
        `${model.file}: models read each other: ${[...path.slice(start), model.name].join(' → ')}`,
      )
    for (const name of model.reads) {
      const upstream = models.get(name)
      if (upstream && !broken.has(name)) visit(upstream, [...path, model.name])
    }
    ordered.add(model)
  }
  const tried = (model: Model, check: () => void) => {
    try {
      if (!broken.has(model.name)) check()
    } catch (error) {
      broken.set(model.name, error as Error)
    }
  }
  for (const model of models.values()) tried(model, () => checkReads(model, models, broken))
  for (const model of models.values()) tried(model, () => visit(model, []))
  return [...ordered]
}

/** What the header says of columns is of some that there are, however they are written. */
function checkColumns({ file, grain, by, seen, plain = [], ...model }: Model): void {
  const columns = model.columns.map(([column]) => column)
  const known = columns.map((column) => column.toLowerCase())
  const named = { grain, by: by ? [by] : [], seen: seen ? [seen] : [], plain }
  for (const [key, names] of Object.entries(named))
    for (const name of names) {
      if (known.includes(name.toLowerCase())) continue
      const hint = `${didYouMean(name, columns)} Known: ${columns.join(', ')}`
      throw new Error(`${file}: header key "${key}" names "${name}", which is no column.${hint}`)
    }
}

/** Of columns with one name DuckDB calls the second otherwise: `ltv_1`. */
async function checkDistinct(connection: DuckDBConnection, { file, sql, columns }: Model): Promise<void> {
  if (!columns.some(([column]) => /_\d+$/.test(column))) return
  const selected = await connection.runAndReadAll(`describe ${sql}`)
  const seen = new Set<string>()
  for (const [column] of selected.getRows()) {
    const name = String(column).toLowerCase()
    if (seen.has(name)) throw new Error(`${file}: two columns are named "${column}"`)
    seen.add(name)
  }
}

/** Has DuckDB find every column and function, and say what columns there are; over empty tables: next to nothing is computed. */
async function bind(
  connection: DuckDBConnection,
  ordered: readonly Model[],
  broken: Map<string, Error>,
): Promise<void> {
  await createEmptySources(connection)
  for (const model of ordered) {
    const { name, file, sql, reads, from } = model
    const missing = reads.find((read) => broken.has(read) && !GIVEN.has(read))
    try {
      if (missing) throw new Error(`${file}: it reads "${missing}", which is broken`)
      // On one line, so that lines in what DuckDB says are those of the file.
      await naming(model, () => inTime(connection, `create table ${name} as ${sql}`))
      model.columns = await columnsOf(connection, name)
      await checkDistinct(connection, model)
      checkColumns(model)
      const people = ordered.find((other) => other.seen && reads.includes(other.name))
      if (model.of && people) await checkOfSales(connection, model, people)
      if (model.by && model.layer === 'mart') await checkByCustomer(connection, model)
      if (from?.where !== undefined)
        await naming({ file: fromOf(file) }, () => connection.run(rowsFrom(from)))
    } catch (error) {
      broken.set(name, error as Error)
    }
  }
}

/** A model of sales is not made anew for visits: it must do without the column that they move. */
const checkOfSales = (connection: DuckDBConnection, model: Model, { name, seen = '' }: Model) =>
  checkWithout(connection, model, name, seen, `is of sales, but reads ${name}.${seen}, which visits move`)

/** Of a model by customer the rows of those of whom nothing came stay as they are, whatever the time. */
const checkByCustomer = (connection: DuckDBConnection, model: Model) =>
  checkWithout(
    connection,
    model,
    'params',
    'as_of',
    'is by customer, but reads params.as_of, which moves for everyone: leave "by" out',
  )

async function checkWithout(
  connection: DuckDBConnection,
  { file, sql }: Model,
  relation: string,
  column: string,
  wrong: string,
): Promise<void> {
  // Of two relations with one name that of the session is read.
  await connection.run(
    `create temp table ${relation} as select * exclude (${identifier(column)}) from main.${relation}`,
  )
  try {
    await connection.run(`explain ${sql}`)
  } catch (cause) {
    throw new Error(`${file}: ${wrong}`, { cause })
  } finally {
    await connection.run(`drop table temp.${relation}`)
  }
}

/** What a model computes of no rows must not keep others waiting: servers load models, too. */
const BIND_MS = 10_000

async function inTime(connection: DuckDBConnection, text: string): Promise<void> {
  const late = AbortSignal.timeout(BIND_MS)
  try {
    await interrupted(connection, late, () => connection.run(text))
  } catch (error) {
    if (!late.aborted) throw error
    throw new Late(`takes more than ${BIND_MS / 1000} s where no source has rows: what is so long in it?`, {
      cause: error,
    })
  }
}

class Late extends Error {}

const isPassing = (error: unknown): boolean =>
  error instanceof Late ||
  isOutOfMemory(error) ||
  isOfDisk(error) ||
  (error instanceof Error && isPassing(error.cause))

async function columnsOf(connection: DuckDBConnection, relation: string): Promise<Columns> {
  const described = await connection.runAndReadAll(`describe ${relation}`)
  return described.getRows().map(([column, type]) => [String(column), String(type)] as const)
}
