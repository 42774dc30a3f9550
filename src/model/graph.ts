import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { CHECKOUT } from '../config.ts'
import { type Header, readHeader } from './header.ts'
import { didYouMean } from './nearest.ts'
import { readSelect } from './select.ts'
import { SOURCES } from './source.ts'

/** One SELECT of models/, whose file name is the name of its relation. */
export interface Model extends Header {
  name: string
  /** Path from the checkout, for messages. */
  file: string
  /** staging: reads sources and gives them their rules; mart: reads staging models and marts only. */
  layer: 'staging' | 'mart'
  /** A mart whose rows are computed by refreshes and published; all else is a view, computed by whoever reads it. */
  stored: boolean
  sql: string
  /** Relations that it reads, sorted: models, sources, params. */
  reads: string[]
}

/** What the header of a mart says that is not stored. */
const AT_EVERY_READ = 'at every read'

const loaded = new Map<string, Promise<Model[]>>()

/**
 * All models of a folder tree, each after those that it reads; read once per process. Throws an error that
 * names the file for a bad header, a text that is not one plain SELECT, an unknown relation or a cycle.
 */
export function loadModels(folder = 'models'): Promise<Model[]> {
  const path = resolve(CHECKOUT, folder)
  let models = loaded.get(path)
  if (!models) {
    models = readModels(path, folder)
    loaded.set(path, models)
  }
  return models
}

async function readModels(path: string, folder: string): Promise<Model[]> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  try {
    const models = new Map<string, Model>()
    for (const entry of readdirSync(path, { recursive: true, encoding: 'utf8' }).sort()) {
      if (!entry.endsWith('.sql')) continue
      const file = join(folder, entry)
      const name = basename(entry, '.sql')
      checkName(file, name, models.get(name))
      const text = readFileSync(join(path, entry), 'utf8').trim()
      const header = readHeader(file, text)
      const { reads, columnsNamed } = await readSelect(connection, file, text)
      if (!columnsNamed) throw new Error(`${file}: the last select has a *; name its columns`)
      const layer = entry.startsWith('staging/') ? 'staging' : 'mart'
      const stored = layer === 'mart' && header.refresh !== AT_EVERY_READ
      models.set(name, { name, file, layer, stored, sql: text, reads, ...header })
    }
    for (const model of models.values()) checkReads(model, models)
    return inOrder(models)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

function checkName(file: string, name: string, taken: Model | undefined): void {
  if (!/^[a-z][a-z0-9_]*$/.test(name))
    throw new Error(`${file}: a model's file name is snake_case, as its relation`)
  if (taken) throw new Error(`${file}: a model named "${name}" exists already in ${taken.file}`)
  if (SOURCES.includes(name) || name === 'params')
    throw new Error(`${file}: "${name}" is the name of a source`)
}

function checkReads(model: Model, models: ReadonlyMap<string, Model>): void {
  for (const name of model.by ? model.reads : []) {
    const upstream = models.get(name)
    if (upstream?.layer === 'mart' && !upstream.by)
      throw new Error(`${model.file}: is by customer, but reads "${name}", which is not`)
  }
  const known = [...models.keys(), 'params', ...(model.layer === 'staging' ? SOURCES : [])]
  for (const name of model.reads) {
    if (known.includes(name)) continue
    if (SOURCES.includes(name))
      throw new Error(
        `${model.file}: "${name}" is a source, with test orders, merged customers and rows after as_of; ` +
          `read its staging model instead`,
      )
    throw new Error(`${model.file}: no relation "${name}".${didYouMean(name, known)}`)
  }
}

/** Depth first by name, so that the order is the same on every machine. */
function inOrder(models: ReadonlyMap<string, Model>): Model[] {
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
      if (upstream) visit(upstream, [...path, model.name])
    }
    ordered.add(model)
  }
  for (const model of models.values()) visit(model, [])
  return [...ordered]
}

/** Models by name with all that they are made of, in the order of the list. */
export function upstreamOf(names: readonly string[], models: readonly Model[]): Model[] {
  const wanted = new Set(names)
  for (const model of [...models].reverse())
    if (wanted.has(model.name)) for (const name of model.reads) wanted.add(name)
  return models.filter(({ name }) => wanted.has(name))
}
