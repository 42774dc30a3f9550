import { constants, createWriteStream } from 'node:fs'
import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline as pipe } from 'node:stream/promises'
import { createZstdCompress, constants as zlib } from 'node:zlib'
import { type Failure, fail } from '../errors.ts'
import { errorFields, log } from '../log.ts'
import { makeFolder, sync, syncFolders } from '../store/folder.ts'
import { hashOf } from '../store/hash.ts'
import type { Transaction } from '../store/postgres.ts'
import { statement } from '../store/sqlfile.ts'
import { listedFiles, noteLostServed } from './lost.ts'
import { positionOf, refuseMoved } from './moved.ts'
import type { Pipeline } from './pipeline.ts'

export const BACKUP_FORMAT = 1

/** What a backup folder holds; `backup.json`, written last: without it the backup is not whole. */
export interface BackupDocument {
  format: number
  made_at: string
  migrations: string[]
  /** Tables in an order in which they can be filled, with their bytes. */
  tables: { name: string; bytes: number }[]
  /** Lake paths with their SHA-256. */
  files: { path: string; sha256: string; bytes: number }[]
  exported_below: string
  first_log_day: string | null
}

/** A restore finds what changed since. */
const CHECKED = { params: { [zlib.ZSTD_c_checksumFlag]: 1 } }

/** Removal of lake files waits for a backup, and for so long after it has ended or died. */
export const PAUSE_MINUTES = 5
const RENEW_MS = 60_000

/**
 * Writes all tables, as of one instant, and the lake files that they name into an empty folder. The service goes on
 * meanwhile: lake files are immutable, and the removal of retired ones pauses. The signal ends it as a failure does.
 */
export async function backup(
  pipeline: Pipeline,
  folder: string,
  onProgress: (done: number, total: number) => void = () => {},
  signal: AbortSignal = new AbortController().signal,
): Promise<BackupDocument> {
  const { postgres, lakeDir } = pipeline
  if (!relative(lakeDir, resolve(folder)).startsWith('..'))
    throw fail('conflict', `${folder} is within the lake: a backup needs a folder of its own.`)
  refuseMoved(await positionOf(pipeline))
  await prepare(folder)
  const pause = () => postgres.pipeline.run('backup_pause_removal', [PAUSE_MINUTES])
  const renewal = setInterval(() => {
    pause().catch((error) => log('warn', 'backup_pause_failed', errorFields(error)))
  }, RENEW_MS)
  /** Postgres says of a transaction that ends within a copy only that. */
  let failed: unknown
  let dumping: Promise<unknown> = Promise.resolve()
  const cut = Promise.withResolvers<never>()
  cut.promise.catch(() => {})
  const stop = () => cut.reject(signal.reason)
  signal.addEventListener('abort', stop)
  try {
    signal.throwIfAborted()
    await pause()
    const taken = postgres.sql.begin('isolation level repeatable read read only', async (tx) => {
      await ask(tx, 'backup_take_time')
      const [state] = await ask<Pick<BackupDocument, 'exported_below' | 'first_log_day' | 'migrations'>>(
        tx,
        'backup_state',
      )
      if (!state) throw new Error('the database has no lake_state')
      const tables = await ask<{ name: string }>(tx, 'backup_tables')
      const files = await ask<BackupDocument['files'][number]>(tx, 'backup_files')
      const dumped: BackupDocument['tables'] = []
      for (const { name } of tables) {
        const dumpingOne = dump(tx, name, join(folder, 'postgres', `${name}.copy.zst`), signal)
        dumping = dumpingOne.catch((error) => {
          failed = error
        })
        dumped.push({ name, bytes: await dumpingOne })
      }
      const made_at = new Date().toISOString()
      return { format: BACKUP_FORMAT, made_at, ...state, tables: dumped, files }
    })
    // What Postgres still sends of a table may take as long as the table is.
    const document = await Promise.race([taken, cut.promise])
    for (const [index, file] of document.files.entries()) {
      const from = join(lakeDir, file.path)
      const isWhole = await copyChecked(from, join(folder, 'lake', file.path), file).catch(async (cause) => {
        throw isMissing(cause) ? await notWhole(pipeline, file.path, 'is missing', cause) : cause
      })
      if (!isWhole) throw await notWhole(pipeline, file.path, 'is damaged: its SHA-256 differs')
      onProgress(index + 1, document.files.length)
      signal.throwIfAborted()
    }
    await syncFolders(folder)
    await writeFile(join(folder, 'backup.json'), JSON.stringify(document, null, 2), { flush: true })
    await sync(folder)
    return document
  } catch (error) {
    await dumping
    await clear(folder)
    throw signal.aborted ? signal.reason : (failed ?? error)
  } finally {
    signal.removeEventListener('abort', stop)
    clearInterval(renewal)
  }
}

/** Whoever may read a backup reads every customer: only its owner may, also where the folder was there before. */
async function prepare(folder: string): Promise<void> {
  makeFolder('FOLDER', folder)
  const there = await readdir(folder)
  if (there.length && there.every((name) => PARTS.includes(name)))
    throw fail(
      'conflict',
      `${folder} holds a backup without its backup.json: one that was killed, or is still being written. If none is, remove ${there.map((name) => join(folder, name)).join(' and ')}, or give another folder.`,
    )
  if (there.length) throw fail('conflict', `${folder} is not empty: a backup needs a folder of its own.`)
  for (const part of PARTS) await mkdir(join(folder, part), { mode: 0o700 })
}

const PARTS = ['postgres', 'lake']

/** What is not whole is of no use, and would be in the way of the next try. */
async function clear(folder: string): Promise<void> {
  for (const part of [...PARTS, 'backup.json']) await rm(join(folder, part), { recursive: true, force: true })
}

const ask = async <Row>(tx: Transaction, name: string): Promise<Row[]> =>
  (await tx.unsafe(statement('postgres', name))) as unknown as Row[]

async function dump(tx: Transaction, table: string, path: string, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted()
  await mkdir(dirname(path), { recursive: true })
  let bytes = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      done(null, chunk)
    },
  })
  // Names come from the catalog, quoted by Postgres itself.
  const rows = await tx.unsafe(`copy (select * from ${table}) to stdout`).readable()
  // What is made from here on would stay behind.
  signal.throwIfAborted()
  await pipe(rows, counted, createZstdCompress(CHECKED), createWriteStream(path, { flush: true }), { signal })
  return bytes
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** What is published is made from the other files: the next refresh of its brand makes it anew. */
async function notWhole(pipeline: Pipeline, path: string, why: string, cause?: unknown): Promise<Failure> {
  const whole = join(pipeline.lakeDir, path)
  const file = (await listedFiles(pipeline, null)).find((listed) => listed.path === path)
  const brandId = file?.relation === 'served' ? file.brand_id : null
  return fail(
    'conflict',
    brandId && (await noteLostServed(pipeline, brandId))
      ? `${whole} ${why}. recoup refresh --brand ${brandId} makes it anew: run that, then back up again.`
      : `${whole} ${why}, and the tables name it: no backup is whole without it. Put it back, from an earlier backup where there is one.`,
    { cause },
  )
}

/**
 * A copy that shares blocks where the file system can; on disk when it returns, its name once its folders are synced.
 * False where it is not what was written once.
 */
export async function copyChecked(
  from: string,
  to: string,
  { sha256, bytes }: BackupDocument['files'][number],
): Promise<boolean> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  await copyFile(from, to, constants.COPYFILE_FICLONE)
  await sync(to)
  return (await hashOf(to, bytes)).toString('hex') === sha256
}
