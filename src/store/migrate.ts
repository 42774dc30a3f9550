import { spawn } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { resolveBinary } from 'dbmate'
import type postgres from 'postgres'
import { CHECKOUT } from '../config.ts'
import { errorCode, fail, isUniqueViolation } from '../errors.ts'
import { log } from '../log.ts'
import connect from './driver.ts'
import { KNOWN_VERSIONS, MIGRATIONS } from './known-versions.ts'

const OLDEST_VERSION = 160_000
/** Advisory lock of one migration run in a database: "recoup" in ASCII, as a bigint. */
const MIGRATION_LOCK = 0x7265636f7570
const LOCK_RETRY_MS = 100
const SAY_MS = 2_000

export interface MigrateOptions {
  /** Applies nothing to a database that has a schema: it throws `conflict` where that is older. */
  onlyNew?: boolean
  /** Goes on with a schema that has versions which are not known here; else it throws `conflict`. */
  newerToo?: boolean
}

/**
 * Brings a database to the newest schema, made when missing; safe from several processes at once. Returns the versions
 * that this call applied, and those that are not known here. Throws `unavailable` for a server that would lose or refuse data.
 */
export async function migrate(
  url: string,
  { onlyNew = false, newerToo = false }: MigrateOptions = {},
): Promise<{ applied: string[]; unknown: string[] }> {
  const target = withSslMode(url)
  await ensureDatabase(target)
  return await withConnection(target, async (sql) => {
    const [server] = await sql`
      select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync`
    const refusal = refusalOf(server as ServerFacts)
    if (refusal) throw fail('unavailable', refusal)

    const look = async () => {
      const schema = await schemaOf(sql)
      const { unknown } = schema
      if (unknown.length && !newerToo)
        throw fail(
          'conflict',
          `The database was migrated by a newer version: ${unknown.join(', ')} is not known here. Use that version.`,
        )
      return schema
    }
    if (onlyNew) {
      const { pending, unknown, isNew } = await look()
      if (!isNew && pending.length) throw (await holderOf(sql)) ? underWay() : older(pending)
      if (!isNew) return { applied: [], unknown }
    }
    await haveLock(sql)
    const { pending, unknown, isNew } = await look()
    if (onlyNew && !isNew && pending.length) throw older(pending)
    if (pending.length) {
      await dropHalfMade(sql)
      await dbmate(withLogin(target, sql.options))
    }
    return { applied: pending, unknown }
  })
}

/**
 * dbmate itself does not keep two runs apart. Not by a statement that waits: `create index concurrently` waits for every
 * statement that is older, and the one that waits for the lock of who makes the index would be among them.
 */
async function haveLock(sql: postgres.Sql): Promise<void> {
  for (let waited = 0; ; waited += LOCK_RETRY_MS) {
    const [lock] = await sql`select pg_try_advisory_lock(${MIGRATION_LOCK}) as taken`
    if (lock?.taken) return
    if (waited === SAY_MS) log('warn', 'migration_awaited', await holderOf(sql))
    await pause(LOCK_RETRY_MS)
  }
}

/** Of the lock; none when it has just let go. */
async function holderOf(sql: postgres.Sql): Promise<Record<string, unknown> | undefined> {
  const [holder] = await sql`
    select pid as postgres_pid, client_addr::text, backend_start
    from pg_locks join pg_stat_activity using (pid)
    where locktype = 'advisory' and granted and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())
      and (classid::bigint << 32) + objid::bigint = ${MIGRATION_LOCK}`
  return holder
}

/** Drops what is left of indexes that a run was killed over; its Postgres may be at work on one still, and is waited for. */
async function dropHalfMade(sql: postgres.Sql): Promise<void> {
  const found = () => sql<{ name: string; relation: string }[]>`
    select index.relname as name, indrelid::regclass::text as relation
    from pg_index
    join pg_class as index on index.oid = indexrelid
    where not indisvalid and index.relkind = 'i' and index.relnamespace = 'public'::regnamespace`
  for (const { relation } of await found())
    await sql.begin((tx) => tx.unsafe(`lock table ${relation} in share update exclusive mode`))
  for (const { name } of await found()) await sql`drop index concurrently if exists ${sql(name)}`
}

const older = (pending: readonly string[]) =>
  fail(
    'conflict',
    `The database is older than this version, which has ${counted(pending.length)}. Start the new server (recoup dev or serve), or run: recoup migrate`,
  )

const underWay = () =>
  fail('conflict', 'The database is being migrated by another process: try again once it is done.')

const counted = (migrations: number) => `${migrations} migration${migrations === 1 ? '' : 's'} more`

interface Schema {
  /** Versions of the migration files that the database does not have yet, oldest first. */
  pending: string[]
  /** Those that it has and no file is of. */
  unknown: string[]
  /** It has no schema. */
  isNew: boolean
}

/** What a database has of the schema that is known here. */
export async function schemaOf(database: string | postgres.Sql): Promise<Schema> {
  if (typeof database === 'string') return await withConnection(withSslMode(database), schemaOf)
  const done = new Set(await appliedMigrations(database))
  const known = new Set(KNOWN_VERSIONS)
  const pending = [...known].filter((version) => !done.has(version))
  return { pending, unknown: [...done].filter((version) => !known.has(version)), isNew: done.size === 0 }
}

export interface ServerFacts {
  /** server_version_num, such as 180004. */
  version: number
  fsync: string
}

/** Why a server must not hold our data, in words for its operator; null when it may. */
export function refusalOf({ version, fsync }: ServerFacts): string | null {
  if (version < OLDEST_VERSION) {
    return `Postgres 16 or newer is needed; the server of DATABASE_URL is version ${Math.floor(version / 10_000)}.`
  }
  if (fsync !== 'on')
    return 'The Postgres of DATABASE_URL has fsync off, so that a crash would lose accepted events: set fsync = on.'
  return null
}

async function appliedMigrations(sql: postgres.Sql): Promise<string[]> {
  try {
    const rows = await sql<{ version: string }[]>`select version from schema_migrations`
    return rows.map(({ version }) => version)
  } catch (error) {
    // No such table: nothing was ever applied.
    if (errorCode(error) === '42P01') return []
    throw error
  }
}

/** By way of the database `postgres`, which every server has; dbmate would do it too, but only after our lock. */
async function ensureDatabase(url: string): Promise<void> {
  try {
    await withConnection(url, (sql) => sql`select 1`)
    return
  } catch (error) {
    if (errorCode(error) !== '3D000') throw error
  }
  const target = new URL(url)
  const name = decodeURIComponent(target.pathname.slice(1))
  target.pathname = '/postgres'
  await withConnection(target.href, async (sql) => {
    try {
      await sql`create database ${sql(name)}`
    } catch (error) {
      // Another process made it at the same moment (one code before the name is taken, one after).
      if (errorCode(error) !== '42P04' && !isUniqueViolation(error)) throw error
    }
  })
}

/** The URL goes by the environment, where other users of the machine cannot read its password. */
async function dbmate(url: string): Promise<void> {
  const options = ['--migrations-dir', MIGRATIONS, '--no-dump-schema', '--env-file', '/dev/null', 'migrate']
  const child = spawn(resolveBinary(), options, {
    cwd: CHECKOUT,
    env: {
      PATH: process.env.PATH,
      SSL_CERT_FILE: process.env.SSL_CERT_FILE,
      SSL_CERT_DIR: process.env.SSL_CERT_DIR,
      DATABASE_URL: url,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0)
    throw new Error(`The database could not be migrated: ${output.trim().split('\n').slice(-3).join(' ')}`)
}

/** With what the driver takes from the environment where the URL does not say it. */
function withLogin(url: string, { user, pass }: { user: string; pass: unknown }): string {
  const parsed = new URL(url)
  parsed.username ||= encodeURIComponent(user)
  parsed.password ||= typeof pass === 'string' ? encodeURIComponent(pass) : ''
  return parsed.href
}

/** dbmate asks for TLS unless told otherwise, and a server on this machine rarely has it. */
export function withSslMode(url: string): string {
  const parsed = new URL(url)
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(parsed.hostname)
  if (local && !parsed.searchParams.has('sslmode')) parsed.searchParams.set('sslmode', 'disable')
  return parsed.href
}

async function withConnection<T>(url: string, work: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
  const sql = connect(url, {
    max: 1,
    connect_timeout: 10,
    // The lock is the connection's, which says nothing while dbmate works: the driver itself would end it in time.
    idle_timeout: 0,
    max_lifetime: null,
    onnotice: () => {},
    fetch_types: false,
  })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}
