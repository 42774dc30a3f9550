import { join } from 'node:path'
import { keep } from '../access/remembered.ts'
import type { CustomerRows, Published } from '../op.ts'
import { chunksOf } from '../store/hash.ts'
import { type Generation, modelPathsOf, OF_SEGMENTS } from './generation.ts'
import { openRowFile, type RowFile, type RowsOf, rowFilePath } from './row-file.ts'
import { ROWS, WHOLE } from './serving.ts'

export interface LookUps {
  of: Published['of']
  close(): Promise<void>
}

/** Files of one refresh: everyone's rows, and those that replace some of them. */
interface Files {
  base: RowFile
  changes: RowFile | null
  /** Tables that are newer than the base. */
  sums: RowFile | null
}

/** Opens what rows of single customers are looked up in: the same rows as in the tables of the generation. */
export async function openLookUps(lakeDir: string, generation: Generation): Promise<LookUps> {
  const open = new Map<string, Promise<RowFile>>()
  const file = (path: string): Promise<RowFile> => {
    const opened = open.get(path) ?? openRowFile(join(lakeDir, rowFilePath(path)))
    open.set(path, opened)
    return opened
  }
  const files = async ({ base, changes, sums }: ReturnType<typeof modelPathsOf>): Promise<Files> => ({
    base: await file(base),
    changes: changes === null ? null : await file(changes),
    sums: sums === null ? null : await file(sums),
  })
  let isClosed = false
  const close = async () => {
    isClosed = true
    const opened = await Promise.allSettled(open.values())
    await Promise.all(opened.map((one) => (one.status === 'fulfilled' ? one.value.close() : undefined)))
  }
  try {
    const segments = await files({ base: generation.base_path, changes: generation.changes_path, sums: null })
    const models = await files(modelPathsOf(generation))
    readOnce(
      [...open.keys()].map((path) => join(lakeDir, rowFilePath(path))),
      () => !isClosed,
    ).catch(() => {})
    const placeOf = (table: string, customer: number) =>
      placeIn(OF_SEGMENTS.has(table) ? segments : models, table, customer)
    return {
      close,
      of: (customers, tables) =>
        Promise.all(
          customers.map((customer) =>
            rowsAt(customer, new Map(tables.map((table) => [table, placeOf(table, customer)]))),
          ),
        ),
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Files that this process has read ahead: a base is opened again with each change of it. */
const readAhead = new Map<string, true>()
const REMEMBERED = 256

/** Has the machine hold the files in memory: from a disk 500 look-ups a second are answered late for the first 20 s. */
async function readOnce(paths: readonly string[], isWanted: () => boolean): Promise<void> {
  for (const path of paths) {
    if (readAhead.has(path)) continue
    keep(readAhead, REMEMBERED, path, true)
    for await (const _ of chunksOf(path))
      if (!isWanted()) {
        readAhead.delete(path)
        return
      }
  }
}

interface Place {
  file: RowFile
  /** In the file. */
  name: string
}

function placeIn({ base, changes, sums }: Files, table: string, customer: number): Place {
  const [rows, whole] = [`${ROWS}.${table}`, `${WHOLE}.${table}`]
  if (changes?.has(whole)) return { file: changes, name: whole }
  if (sums?.has(rows)) return { file: sums, name: rows }
  const isMoved = changes?.has(rows) && changes.replaces(customer)
  return { file: changes && isMoved ? changes : base, name: rows }
}

/** Reads each of the files once. */
async function rowsAt(customer: number, places: ReadonlyMap<string, Place>): Promise<CustomerRows> {
  const files = new Set([...places.values()].map(({ file }) => file))
  const read = new Map<RowFile, RowsOf>()
  await Promise.all([...files].map(async (file) => read.set(file, await file.rows(customer))))
  return <Row>(table: string) => {
    const place = places.get(table)
    if (!place) throw new Error(`rows of ${table} were not asked for`)
    return (read.get(place.file)?.(place.name) ?? []) as Row[]
  }
}
