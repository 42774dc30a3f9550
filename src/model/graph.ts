import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { CHECKOUT } from '../config.ts'
import type { Header } from './header.ts'
import { type ModelFile, type Reading, readModels } from './read.ts'

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
  columns: Columns
}

/** Names and types, by DuckDB's own answer. */
export type Columns = readonly (readonly [name: string, type: string])[]

/** A folder of models as it was read. */
interface Folder extends Reading {
  /** Differs when any file does. */
  fingerprint: string
  /** All models as they were when none was broken last; null when that was not in this process. */
  whole: Model[] | null
}

interface Kept {
  fingerprint: string
  read: Promise<Folder>
  /** By performance.now(): then the same files are read again. */
  until: number
}

const folders = new Map<string, Kept>()
/** What was broken for want of memory, disk or time is tried again after so long. */
const RETRY_MS = 60_000

/**
 * All models of a folder tree, each after those that it reads: as they are now, and the same list while no file changes.
 * Throws an error that names the file for a bad header, a text that is not one plain SELECT, an unknown relation or column,
 * or a cycle.
 */
export async function loadModels(folder = 'models'): Promise<Model[]> {
  const { models, broken } = await folderNow(folder)
  const [error] = broken.values()
  if (error) throw error
  return models
}

/** What is computed on request while a file is broken, with the reasons why models are left out, by name. */
export interface Readable {
  models: Model[]
  leftOut: ReadonlyMap<string, Error>
}

/** The models; while a file is broken as they were before that, else those that can be run. */
export async function loadReadable(folder = 'models'): Promise<Readable> {
  const { models, broken, whole } = await folderNow(folder)
  return whole ? { models: whole, leftOut: new Map() } : { models, leftOut: broken }
}

/** Reads the files each time (36 in 0.4 ms): times of files are too coarse to tell two edits apart. */
export async function folderNow(folder = 'models'): Promise<Folder> {
  const path = resolve(CHECKOUT, folder)
  const files = filesOf(path)
  const fingerprint = hash('sha256', JSON.stringify(files.map(([name, text]) => [name, String(text)])))
  const before = folders.get(path)
  if (before?.fingerprint === fingerprint && performance.now() < before.until) return await before.read
  const read = readAfter(before?.read, files, folder, fingerprint)
  const now: Kept = { fingerprint, read, until: Number.POSITIVE_INFINITY }
  folders.set(path, now)
  read.then(
    ({ isPassing }) => {
      if (isPassing) now.until = performance.now() + RETRY_MS
    },
    // What failed may not fail again: there may have been no memory for an instance.
    () => {
      if (folders.get(path) !== now) return
      if (before) folders.set(path, before)
      else folders.delete(path)
    },
  )
  return await read
}

async function readAfter(
  before: Promise<Folder> | undefined,
  files: readonly ModelFile[],
  folder: string,
  fingerprint: string,
): Promise<Folder> {
  const reading = await readModels(files, folder)
  const whole =
    reading.broken.size === 0 ? reading.models : ((await before?.catch(() => null))?.whole ?? null)
  return { ...reading, fingerprint, whole }
}

/** Without hidden files, which editors leave beside those that they have open. */
const filesOf = (path: string): ModelFile[] =>
  readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((entry) => entry.endsWith('.sql') && !basename(entry).startsWith('.'))
    .sort()
    .map((entry) => [entry, textOf(join(path, entry))])

function textOf(path: string): string | Error {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return error as Error
  }
}

/** Models by name with all that they are made of, in the order of the list. */
export function upstreamOf(names: readonly string[], models: readonly Model[]): Model[] {
  const wanted = new Set(names)
  for (const model of [...models].reverse())
    if (wanted.has(model.name)) for (const name of model.reads) wanted.add(name)
  return models.filter(({ name }) => wanted.has(name))
}
