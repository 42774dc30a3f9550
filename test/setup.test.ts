import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { openApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { takeLock } from '../src/store/embedded/lock.ts'
import { findPostmaster } from '../src/store/embedded/postmaster.ts'
import { SERVER_LOCK } from '../src/store/embedded/server.ts'
import { type Embedded, removeEmbedded, startEmbedded } from '../src/store/embedded.ts'
import { migrate, refusalOf, schemaOf, withSslMode } from '../src/store/migrate.ts'
import { cluster, clusterFolder, emptyFolder, startIn } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { databaseUrl, quiet, SMALL } from './fixtures/shared.ts'

const IS_ROOT = process.getuid?.() === 0
/** Something that the owner, who is no superuser, may commit to a cluster without a schema. */
const KEEP = 'create database kept'
const KEPT = "select datname from pg_database where datname = 'kept'"

t.test('the embedded Postgres', async (t) => {
  t.test('is shared by processes that start at once, and the last one out stops it', async (t) => {
    const dataDir = await clusterFolder(t)
    const [first, second] = await Promise.all([user(t, dataDir), user(t, dataDir)])
    t.equal(first.url, second.url)
    await leave(first)
    t.ok(findPostmaster(clusterOf(dataDir)), 'runs while one is left')
    await leave(second)
    t.equal(findPostmaster(clusterOf(dataDir)), null)
  })

  t.test(
    'outlives its killed starters, and the next one takes it over with what was committed',
    async (t) => {
      const dataDir = await clusterFolder(t)
      const users = await Promise.all([user(t, dataDir), user(t, dataDir)])
      await query(users[0].url, KEEP)
      const server = findPostmaster(clusterOf(dataDir))
      await Promise.all(users.map(kill))
      const next = await user(t, dataDir)
      t.same(findPostmaster(clusterOf(dataDir)), server)
      t.same(await query(next.url, KEPT), [{ datname: 'kept' }])
    },
  )

  t.test('heals when everything was killed, the server too', async (t) => {
    const dataDir = await clusterFolder(t)
    const first = await user(t, dataDir)
    await query(first.url, KEEP)
    const server = findPostmaster(clusterOf(dataDir))
    await kill(first)
    process.kill(server?.pid as number, 'SIGKILL')
    const next = await user(t, dataDir)
    t.equal(next.url, first.url, 'same port and password')
    t.same(await query(next.url, KEPT), [{ datname: 'kept' }])
  })

  t.test('starts although its pid file names a process of somebody else', async (t) => {
    const dataDir = await clusterFolder(t)
    const file = join(clusterOf(dataDir), 'postmaster.pid')
    writeFileSync(file, `${process.pid}\n${clusterOf(dataDir)}\n0\n5432\n\n127.0.0.1\n`)
    const { url } = await user(t, dataDir)
    t.same(await query(url, 'select 1 as one'), [{ one: 1 }])
  })

  t.test('takes another port when its own is taken, and keeps that', async (t) => {
    const [one, other] = [await clusterFolder(t), await clusterFolder(t)]
    const first = await user(t, one)
    copyPort(one, other)
    const second = await user(t, other)
    t.not(new URL(second.url).port, new URL(first.url).port)
    t.equal(homeOf(other).port, Number(new URL(second.url).port))
  })

  t.test('starts again on its port after a stop', async (t) => {
    const own = await cluster(t)
    for (const mode of ['fast', 'kill'] as const) {
      await own.stop(mode)
      await t.rejects(query(databaseUrl(own.url, 'postgres'), 'select 1'), { code: 'ECONNREFUSED' })
      await own.start()
      t.same(await query(databaseUrl(own.url, 'postgres'), 'select 1 as one'), [{ one: 1 }])
    }
  })

  t.test('is started again on its port when it ended by itself, and no more after the release', async (t) => {
    const dataDir = await clusterFolder(t)
    const own = await startIn(t, dataDir)
    own.keepRunning()
    const pid = () => findPostmaster(clusterOf(dataDir))?.pid as number
    for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
      const ended = pid()
      process.kill(ended, signal)
      await eventually(async () => pid() !== ended && pid())
      const url = databaseUrl(own.url, 'postgres')
      t.same(await eventually(() => query(url, 'select 1 as one')), [{ one: 1 }])
    }
    process.kill(pid(), 'SIGQUIT')
    await own.release()
    t.equal(findPostmaster(clusterOf(dataDir)), null)
  })

  t.test('is not started beside one whose processes cannot be seen, as in another container', async (t) => {
    const dataDir = await clusterFolder(t)
    const unseen = await takeLock(join(clusterOf(dataDir), SERVER_LOCK), 'exclusive', 0)
    await t.rejects(startIn(t, dataDir), /Another Postgres works in .*Stop the other Recoup first/)
    unseen?.release()
    await startIn(t, dataDir)
  })

  t.test('holds its lock until it has ended', async (t) => {
    const dataDir = await clusterFolder(t)
    const own = await startIn(t, dataDir)
    const path = join(clusterOf(dataDir), SERVER_LOCK)
    t.equal(await takeLock(path, 'exclusive', 0), null)
    await own.stop('kill')
    const free = await takeLock(path, 'exclusive', 0)
    t.ok(free)
    free?.release()
  })

  t.test('never makes an empty database in place of one that is gone', async (t) => {
    const dataDir = await clusterFolder(t)
    await leave(await user(t, dataDir))
    rmSync(clusterOf(dataDir), { recursive: true })
    await t.rejects(startEmbedded({ dataDir, log: quiet }), { message: /is gone: there is no cluster in/ })
  })

  t.test('is not removed while a process uses it', async (t) => {
    const dataDir = await clusterFolder(t)
    const only = await user(t, dataDir)
    t.equal(await removeEmbedded(dataDir), false)
    t.same(await query(only.url, 'select 1 as one'), [{ one: 1 }])
    await leave(only)
    t.equal(await removeEmbedded(dataDir), true)
    t.notOk(existsSync(join(dataDir, 'postgres')))
  })

  t.test(
    'lets nobody but its user into a closed data folder',
    { skip: !IS_ROOT && 'the server runs as this user' },
    async (t) => {
      const dataDir = await emptyFolder(t)
      const only = await startIn(t, dataDir)
      t.equal(homeOf(dataDir).cluster, 'postgres')
      t.equal(statSync(dataDir).mode & 0o777, 0o710)
      t.equal(statSync(dataDir).gid, statSync(clusterOf(dataDir)).gid)
      await only.release()
    },
  )

  t.test(
    'lies outside of a data folder that its user cannot enter',
    { skip: !IS_ROOT && 'the server runs as this user' },
    async (t) => {
      const dataDir = join(await emptyFolder(t), 'data')
      const told: unknown[][] = []
      const first = await startIn(t, dataDir, { log: (...line) => void told.push(line) })
      const place = homeOf(dataDir).cluster as string
      t.notOk(place.startsWith(dataDir))
      t.match(told[0], ['warn', 'postgres_outside_data_dir', { cluster: place, data_dir: dataDir }])
      await query(databaseUrl(first.url, 'postgres'), KEEP)
      await first.release()

      const second = await startIn(t, dataDir)
      t.same(await query(databaseUrl(second.url, 'postgres'), KEPT), [{ datname: 'kept' }])
      await second.release()
      t.equal(await removeEmbedded(dataDir), true)
      t.notOk(existsSync(place))
      t.notOk(existsSync(`${place}.data-dir`))
    },
  )

  t.test(
    'that lies outside follows its data folder, and is not that of a copy',
    { skip: !IS_ROOT && 'the server runs as this user' },
    async (t) => {
      const above = await emptyFolder(t)
      const [first, moved, copy] = [join(above, 'first'), join(above, 'moved'), join(above, 'copy')]
      await (await startIn(t, first)).release()
      renameSync(first, moved)
      await (await startIn(t, moved)).release()
      cpSync(moved, copy, { recursive: true })
      await t.rejects(startEmbedded({ dataDir: copy, log: quiet }), {
        message: `${copy} is a copy of ${moved}`,
      })
      t.equal(await removeEmbedded(copy), true)
      t.ok(existsSync(homeOf(moved).cluster as string), 'that of the original stays')
      await removeEmbedded(moved)
    },
  )
})

t.test('migrations', async (t) => {
  t.test('are applied once by processes that migrate at once, and nothing is left to apply', async (t) => {
    const own = await cluster(t)
    const runs = await Promise.all([migrate(own.url), migrate(own.url), migrate(own.url)])
    const applied = runs.flatMap((run) => run.applied)
    t.ok(applied.length >= 5)
    t.equal(new Set(applied).size, applied.length)
    t.same((await schemaOf(own.url)).pending, [])
    t.same(await migrate(own.url), { applied: [], unknown: [] })
  })

  t.test('are applied with a password of the environment', async (t) => {
    const own = await cluster(t)
    const url = new URL(own.url)
    const before = process.env.PGPASSWORD
    process.env.PGPASSWORD = decodeURIComponent(url.password)
    t.teardown(() => {
      delete process.env.PGPASSWORD
      if (before !== undefined) process.env.PGPASSWORD = before
    })
    url.password = ''
    t.ok((await migrate(url.href)).applied.length > 0)
  })

  t.test('are applied once however long they take', async (t) => {
    const own = await cluster(t)
    const { setTimeout: later } = globalThis
    // Minutes pass in an instant: what would end by itself ends while the first migrations are applied.
    const hurried = t.intercept(globalThis, 'setTimeout', {
      value: Object.assign(
        (work: () => void, ms = 0, ...args: []) => later(work, ms < 60_000 ? ms : 20, ...args),
        later,
      ),
    })
    const runs = await Promise.all([migrate(own.url), migrate(own.url)]).finally(() => hurried.restore())
    const applied = runs.flatMap((run) => run.applied)
    t.equal(new Set(applied).size, applied.length)
    t.same((await schemaOf(own.url)).pending, [])
  })

  t.test('are left to who may apply them, and those of a newer version are refused', async (t) => {
    const own = await cluster(t)
    const onlyNew = { onlyNew: true }
    t.ok((await migrate(own.url, onlyNew)).applied.length > 0, 'a database without a schema gets one')
    const sql = postgres(own.url, { max: 1, onnotice: () => {} })
    t.teardown(() => sql.end())
    const [last] = await sql`
      delete from schema_migrations where version = (select max(version) from schema_migrations) returning version`
    await t.rejects(migrate(own.url, onlyNew), { code: 'conflict', message: /has 1 migration more/ })
    await sql`insert into schema_migrations (version) values (${last?.version}), ('99991231')`
    await t.rejects(migrate(own.url), { code: 'conflict', message: /newer version: 99991231/ })
    t.same(await migrate(own.url, { newerToo: true }), { applied: [], unknown: ['99991231'] })
  })

  t.test('who applies none waits for nobody who does, and who may apply some says whom', async (t) => {
    const own = await database(t)
    const holder = await own.postgres.sql.reserve()
    t.teardown(() => holder.release())
    const [lock] = await holder`select pg_advisory_lock(${0x7265636f7570}), pg_backend_pid() as pid`
    const said = t.capture(process.stderr, 'write')
    t.same(await migrate(own.url, { onlyNew: true }), { applied: [], unknown: [] })
    const waiting = migrate(own.url)
    const told = await eventually(async () =>
      said().find(({ args }) => String(args[0]).includes('"migration_awaited"')),
    )
    t.match(JSON.parse(String(told.args[0])), { level: 'warn', postgres_pid: lock?.pid })
    await holder`select pg_advisory_unlock(${0x7265636f7570})`
    t.same(await waiting, { applied: [], unknown: [] })
  })

  t.test('make an index anew that a run was killed over', async (t) => {
    const own = await cluster(t)
    await migrate(own.url)
    const sql = postgres(own.url, { max: 1, onnotice: () => {} })
    t.teardown(() => sql.end())
    await sql`drop index identifier_subject`
    await sql`create table twice as select 1 as n from generate_series(1, 2)`
    await t.rejects(sql`create unique index concurrently identifier_subject on twice (n)`, { code: '23505' })
    // The other indexes are there, as when a run is killed before it notes them.
    await sql`delete from schema_migrations where version >= '20261128000481' and version <= '20261128000485'`
    t.equal((await migrate(own.url)).applied.length, 5)
    t.same([...(await sql`select indexrelid::regclass::text from pg_index where not indisvalid`)], [])
    t.match(
      await sql`select indrelid::regclass::text as of from pg_index where indexrelid = 'identifier_subject'::regclass`,
      [{ of: 'identifier' }],
    )
  })

  t.test('make indexes of the emails and phones of orders where one was too long for any', async (t) => {
    const own = await cluster(t)
    await migrate(own.url)
    const sql = postgres(own.url, { max: 1, onnotice: () => {} })
    t.teardown(() => sql.end())
    await sql`drop index store_order_email_of_nobody, store_order_phone_of_nobody`
    await sql`alter table store_order drop constraint store_order_channels_short`
    await sql`
      delete from schema_migrations where version in ('20261128000479', '20261128000481', '20261128000482')`
    const long = randomBytes(3_000).toString('hex')
    await sql`
      insert into store_order (
        brand_id, external_id, id, email, phone, state, billing_status, currency_code, total, created_at, updated_at
      )
      select gen_random_uuid(), id, gen_random_uuid(), email, phone, 'complete', 'paid', 'USD', 1, now(), now()
      from (values ('1', ${long}, ${long}), ('2', 'ann@example.com', ${long})) as given (id, email, phone)`
    t.equal((await migrate(own.url)).applied.length, 3)
    t.same(
      [...(await sql`select email, phone from store_order order by external_id`)],
      [
        { email: null, phone: null },
        { email: 'ann@example.com', phone: null },
      ],
    )
  })

  t.test('are refused on a server older than 16', async (t) => {
    t.match(refusalOf({ version: 150_018, fsync: 'on' }), /16 or newer.* is version 15\./)
    t.equal(refusalOf({ version: 160_000, fsync: 'on' }), null)
  })

  t.test('are refused on a server with fsync off', async (t) => {
    const own = await cluster(t, { fsync: 'off' })
    await t.rejects(migrate(own.url), { code: 'unavailable', message: /fsync off/ })
  })

  t.test('need TLS on another machine only', async (t) => {
    t.equal(withSslMode('postgres://a:b@127.0.0.1:1/c'), 'postgres://a:b@127.0.0.1:1/c?sslmode=disable')
    t.equal(
      withSslMode('postgres://a:b@localhost/c?sslmode=require'),
      'postgres://a:b@localhost/c?sslmode=require',
    )
    t.equal(withSslMode('postgres://a:b@db.example.com/c'), 'postgres://a:b@db.example.com/c')
  })
})

const clusterOf = (dataDir: string) => join(dataDir, 'postgres')
const homeOf = (dataDir: string) => JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8'))

function copyPort(from: string, to: string): void {
  writeFileSync(join(to, 'postgres.json'), JSON.stringify({ ...homeOf(to), port: homeOf(from).port }))
}

interface User extends Pick<Embedded, 'url'> {
  child: ChildProcess
}

/** Another process that uses the cluster; its database is one that every server has. */
async function user(t: Test, dataDir: string): Promise<User> {
  const program = fileURLToPath(new URL('./fixtures/embedded-user.ts', import.meta.url))
  const child = spawn(process.execPath, [program, dataDir, JSON.stringify(SMALL)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => kill({ child }))
  for await (const line of createInterface(child.stdout)) return { child, url: databaseUrl(line, 'postgres') }
  throw new Error('the process ended before its Postgres was up')
}

async function leave({ child }: User): Promise<void> {
  child.stdin?.end()
  await once(child, 'exit')
}

async function kill({ child }: Pick<User, 'child'>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function query(url: string, text: string): Promise<unknown[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return [...(await sql.unsafe(text))]
  } finally {
    await sql.end()
  }
}

t.test('a data folder is not removed under a service whose Postgres is elsewhere', async (t) => {
  const { url } = await database(t)
  const dataDir = t.testdir()
  const app = await openApp(readConfig({ DATABASE_URL: url, DATA_DIR: dataDir }))
  t.equal(await removeEmbedded(dataDir), false)
  await app.close()
  t.equal(await removeEmbedded(dataDir), true)
})
