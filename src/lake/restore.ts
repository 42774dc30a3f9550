import { createReadStream } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline as pipe } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import type postgres from 'postgres'
import * as v from 'valibot'
import { fail } from '../errors.ts'
import connect from '../store/driver.ts'
import { syncFolders } from '../store/folder.ts'
import { runningOn } from '../store/running.ts'
import { statement } from '../store/sqlfile.ts'
import { BACKUP_FORMAT, type BackupDocument, copyChecked } from './backup.ts'
import { claimLake } from './owner.ts'

/** First normal transaction id: what the lake holds already is below it, what it does not is above. */
const EXPORTED_XID = '3'
const EXPORTED_BELOW = '4'

/**
 * Batches that the lake does not hold yet keep their order, under all ids below that of the restore: a tick takes whole
 * transactions, and has no room for a large one.
 */
const SPREAD_WAITING = `
  with waiting as (
    select received_at, batch_id, row_number() over (order by xid, batch_id) - 1 as place, count(*) over () as batches
    from event_log
    where xid >= $1::text::xid8
  ),
  ids as (select pg_current_xact_id()::text::bigint - ${EXPORTED_BELOW} as free)
  update event_log
  set xid = (${EXPORTED_BELOW} + place * free / batches)::text::xid8
  from waiting, ids
  where event_log.received_at = waiting.received_at and event_log.batch_id = waiting.batch_id`

/**
 * Where cuts are once the batches that the lake does not hold yet are spread: before the first of these, where all that the
 * lake holds came before the cut. Which of it did is lost where some came after.
 */
const MOVE_CUTS = `
  with waiting as (select xid from event_log where xid >= $1::text::xid8),
  exported as (select xid from event_log where xid < $1::text::xid8 order by xid desc limit 1)
  update erasure
  set cut_below = (
    select (
      ${EXPORTED_BELOW} + coalesce(
        count(*) filter (where xid < cut_below)
          * (pg_current_xact_id()::text::bigint - ${EXPORTED_BELOW}) / nullif(count(*), 0),
        0
      )
    )::text::xid8
    from waiting
    having cut_below > coalesce((select xid from exported), '0')
  )
  where cut_below is not null`

export interface Restored extends BackupDocument {
  /** What ended because it was due since the backup was made, and campaigns that start at what happens from now on only. */
  campaigns: { messages: number; runs: number; campaigns: number }
}

/**
 * Fills a migrated, empty database and an empty lake folder from a backup. Every table is read through first, and every
 * lake file is checked by its hash. Throws `conflict` where the folder is the lake of another service, and while a server
 * or a worker runs.
 */
export async function restore(
  url: string,
  lakeDir: string,
  folder: string,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<Restored> {
  const document = await readDocument(folder)
  const sql = connect(url, { max: 1, onnotice: () => {} })
  try {
    const serviceId = await checkTarget(sql, document)
    for (const table of document.tables) await checkTable(folder, table)
    await claimLake(lakeDir, serviceId)
    for (const [index, file] of document.files.entries()) {
      const from = join(folder, 'lake', file.path)
      await access(from).catch((cause) => {
        throw damaged(file.path, 'it is not there', cause)
      })
      if (!(await copyChecked(from, join(lakeDir, file.path), file)))
        throw damaged(file.path, 'its SHA-256 differs')
      onProgress(index + 1, document.files.length)
    }
    await syncFolders(lakeDir)
    const campaigns = await sql.begin(async (tx) => {
      if (document.first_log_day)
        await tx`call event_log_days(${document.first_log_day}::date, (now() at time zone 'UTC')::date + 7)`
      for (const name of OF_AN_EMPTY_SERVICE) await tx.unsafe(`delete from ${name}`)
      const guarded = await withTriggers(tx)
      for (const name of guarded) await tx.unsafe(`alter table ${name} disable trigger user`)
      // COPY refuses tables whose row-level security holds for the owner too.
      const walled = await tx<
        { name: string }[]
      >`select oid::regclass::text as name from pg_class where relforcerowsecurity`
      for (const { name } of walled) await tx.unsafe(`alter table ${name} no force row level security`)
      for (const { name } of document.tables) {
        const rows = await tx.unsafe(`copy ${name} from stdin`).writable()
        await pipe(
          createReadStream(join(folder, 'postgres', `${name}.copy.zst`)),
          createZstdDecompress(),
          rows,
        )
      }
      const below = [document.exported_below]
      await tx.unsafe(MOVE_CUTS, below)
      for (const name of await withXid(tx)) {
        await tx.unsafe(`update ${name} set xid = '${EXPORTED_XID}' where xid < $1::text::xid8`, below)
        await tx.unsafe(
          name === 'event_log'
            ? SPREAD_WAITING
            : `update ${name} set xid = pg_current_xact_id() where xid >= $1::text::xid8`,
          below,
        )
      }
      for (const name of guarded) await tx.unsafe(`alter table ${name} enable trigger user`)
      // The files of replaced ones are in no backup: who walks one goes on in the newest.
      await tx`delete from served_generation where replaced_at is not null`
      const [ended] = await tx.unsafe<[Restored['campaigns']]>(statement('postgres', 'restore_campaigns'))
      for (const { name } of walled) await tx.unsafe(`alter table ${name} force row level security`)
      // Not the service of the backup, which may live on with a lake of its own.
      await tx`
        update lake_state
        set exported_below = ${EXPORTED_BELOW}::text::xid8, removal_paused_until = null, service_id = ${serviceId}`
      await tx`update attribution_state set looked_below = '0'`
      await tx`delete from attribution_behind`
      await tx.unsafe(statement('postgres', 'restore_sequences'))
      return ended
    })
    return { ...document, campaigns }
  } finally {
    await sql.end()
  }
}

/** Tables that fill in a service that has run already without a brand. */
const OF_AN_EMPTY_SERVICE = [
  ...['secret', 'lake_state', 'attribution_state', 'event_log_day', 'worker_watch'],
  ...['server_process', 'rate_limit', 'sign_in_attempt', 'oidc_record'],
]

/** Tables whose triggers would take rows of a backup for news. */
async function withTriggers(tx: postgres.TransactionSql): Promise<string[]> {
  const tables = await tx<{ name: string }[]>`
    select distinct pg_class.oid::regclass::text as name
    from pg_class join pg_trigger on tgrelid = pg_class.oid
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace and not tgisinternal`
  return tables.map(({ name }) => name)
}

/** Tables whose rows carry the transaction that wrote them: ids of the old cluster mean nothing here. */
async function withXid(tx: postgres.TransactionSql): Promise<string[]> {
  const tables = await tx<{ name: string }[]>`
    select oid::regclass::text as name
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
      and attname = 'xid' and atttypid = 'xid8'::regtype`
  return tables.map(({ name }) => name)
}

async function readDocument(folder: string): Promise<BackupDocument> {
  const path = join(folder, 'backup.json')
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw fail('not_found', `${path} cannot be read: the folder is not a whole backup.`, { cause })
  })
  const given = parsed(text)
  if (isOfFormat(given) && given.format !== BACKUP_FORMAT)
    throw fail('conflict', `${path}: format ${given.format} is not known here.`)
  const document = v.safeParse(Document, given)
  if (!document.success) throw fail('conflict', `${path} is damaged: the folder is not a whole backup.`)
  return document.output
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Of another format everything else may be different. */
const isOfFormat = (given: unknown): given is { format: number } =>
  v.is(v.object({ format: v.number() }), given)

const PATH = v.pipe(
  v.string(),
  v.check((path) => !path.split('/').includes('..')),
)
const Document: v.GenericSchema<unknown, BackupDocument> = v.object({
  format: v.number(),
  made_at: v.string(),
  migrations: v.array(v.string()),
  tables: v.array(v.object({ name: PATH, bytes: v.number() })),
  files: v.array(v.object({ path: PATH, sha256: v.string(), bytes: v.number() })),
  exported_below: v.string(),
  first_log_day: v.nullable(v.string()),
})

const damaged = (path: string, why: string, cause?: unknown) =>
  fail('conflict', `${path} of the backup is damaged: ${why}.`, { cause })

/** Reads the rows of a table through. Zstandard takes a file that is cut off for a whole one: bytes are counted. */
async function checkTable(folder: string, { name, bytes }: BackupDocument['tables'][number]): Promise<void> {
  const path = join('postgres', `${name}.copy.zst`)
  let read = 0
  const counted = new Writable({
    write(chunk: Buffer, _encoding, done) {
      read += chunk.length
      done()
    },
  })
  await pipe(createReadStream(join(folder, path)), createZstdDecompress(), counted).catch((cause) => {
    throw damaged(path, cause instanceof Error ? cause.message : String(cause), cause)
  })
  if (read !== bytes) throw damaged(path, `${read} of ${bytes} bytes are there`)
}

/** Returns the id of the service that is restored into. */
async function checkTarget(sql: postgres.Sql, document: BackupDocument): Promise<string> {
  const rows = await sql<{ version: string }[]>`select version from schema_migrations order by version`
  const here = rows.map(({ version }) => version)
  const known = new Set(here)
  const before = new Set(document.migrations)
  const older = document.migrations.find((version) => !known.has(version))
  const newer = here.find((version) => !before.has(version))
  if (older ?? newer)
    throw fail(
      'conflict',
      `${older ? `The backup has the migration ${older}, this database has not` : `This database has the migration ${newer}, the backup has not`}: use the version that made it.`,
    )
  const [service] = await sql<{ service_id: string; has_brands: boolean }[]>`
    select service_id, exists (select from brand) as has_brands from lake_state`
  if (!service) throw new Error('the database has no lake_state')
  if (service.has_brands)
    throw fail(
      'conflict',
      'The database has brands: restore into an empty one, with a new DATA_DIR or another DATABASE_URL and LAKE_DIR.',
    )
  await refuseRunning(sql)
  return service.service_id
}

/** Whoever runs goes on with the secrets of before. */
async function refuseRunning(sql: postgres.Sql): Promise<void> {
  const runs = await runningOn(sql)
  const running = [
    ...(runs.server ? ['a server (recoup serve or dev)'] : []),
    ...(runs.worker ? ['a worker (recoup work or dev)'] : []),
  ]
  if (running.length > 0)
    throw fail(
      'conflict',
      `Of this database there runs ${running.join(' and ')}, which would go on with its old secrets: stop all, then restore. A server that was killed counts for two minutes.`,
    )
}
