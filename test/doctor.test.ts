import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openApp } from '../src/app.ts'
import { diskFinding } from '../src/cli/doctor.ts'
import { main } from '../src/cli/main.ts'
import { readConfig } from '../src/config.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { listedFiles } from '../src/lake/lost.ts'
import { missingOf } from '../src/ready.ts'
import { noteFailed } from '../src/segment/failed.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import connect from '../src/store/driver.ts'
import { startWorker } from '../src/work.ts'
import { away } from './fixtures/away.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { cluster } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { logBatch } from './fixtures/lake.ts'
import { service } from './fixtures/service.ts'

const { app, db, origin } = await service(t)
/** The owner's, whom the queues belong to. */
const sql = connect(db.url, { max: 1, onnotice: () => {} })
t.teardown(() => sql.end())

/** What it says of each check, by its name. */
async function doctor(settings: Record<string, string> = {}): Promise<Record<string, string>> {
  let said = ''
  const out = (text: string) => {
    said += text
  }
  const env = { DATABASE_URL: db.url, DATA_DIR: app.config.dataDir, BASE_URL: origin, ...settings }
  const code = await main(['doctor'], { env, out, err: out })
  t.equal(code, said.includes('WRONG') ? 1 : 0)
  return Object.fromEntries(
    said
      .trimEnd()
      .split('\n')
      .map((line) => [/^\w+ +([a-z ]+):/.exec(line)?.[1], line]),
  )
}

t.test('doctor finds the server of this service, and says where it looked for one', async (t) => {
  t.equal((await doctor()).server, `ok     server: ready at ${origin}`)
  const nowhere = 'http://127.0.0.1:1'
  t.match(await doctor({ BASE_URL: nowhere }), {
    server: `WRONG  server: no Recoup answers at ${nowhere}: run`,
  })
})

t.test('doctor takes no server of another service for this one’s', async (t) => {
  const other = await database(t)
  t.match(await doctor({ DATABASE_URL: other.url }), {
    server: `WRONG  server: the Recoup at ${origin} is another service, and no server of this one runs`,
  })
})

t.test('doctor says that no worker runs, and since when', async (t) => {
  t.match(await doctor(), { worker: 'WRONG  worker: none has run: recoup dev' })
  const worker = await startWorker(app)
  await eventually(async () => (await doctor()).worker?.startsWith('ok     worker: planned')).finally(
    worker.stop,
  )
  await sql`update pgboss.job set completed_on = completed_on - interval '1 hour' where name = 'plan'`
  t.match(await doctor(), { worker: /^WRONG {2}worker: the last sign of life was 36\d\d s ago/ })
})

t.test('doctor tries the secret key', async (t) => {
  t.match(await doctor(), { 'secret key': 'ok     secret key' })
  t.match(await doctor({ SECRET_KEY: 's'.repeat(32) }), {
    'secret key': /^WRONG {2}secret key: SECRET_KEY is not the key/,
  })
  const empty = mkdtempSync(join(tmpdir(), 'recoup-doctor-'))
  t.teardown(() => rmSync(empty, { recursive: true, force: true }))
  t.match(await doctor({ DATA_DIR: empty }), { 'secret key': /^WRONG {2}secret key: There is no/ })
  writeFileSync(join(empty, 'secret-key'), 'x')
  t.match(await doctor({ DATA_DIR: empty }), { 'secret key': /^WRONG {2}secret key:.*32 characters/ })
})

t.test('doctor loads the models', async (t) => {
  t.match(await doctor(), { models: /^ok {5}models: \d+ load$/ })
})

t.test('doctor says which brand’s refresh failed, and why, until one succeeds', async (t) => {
  t.match(await doctor(), { refreshes: 'ok     refreshes: none fails' })
  const brand = await newBrand(app.pipeline)
  await noteFailed(app.pipeline, brand.id, new Error('models/own.sql: no such column'), {
    results: null,
    ms: 1,
  })
  t.match(await doctor(), {
    refreshes: `WRONG  refreshes: ${brand.shop_domain}: models/own.sql: no such column. Reads`,
  })
  await refreshBrand(app.pipeline, brand.id)
  t.match(await doctor(), { refreshes: 'ok     refreshes: none fails' })
})

t.test('a lake folder that is not the one of the service keeps it from being ready', async (t) => {
  const ready = async () => await (await fetch(`${origin}/readyz`)).json()
  const brand = await newBrand(app.pipeline)
  await logBatch(app.postgres.sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  await snapshotAll(app.pipeline)
  t.match(await ready(), { ok: true })
  const back = away(app.pipeline)
  try {
    t.match(await ready(), { ok: false, missing: [/has none of the files of this service/] })
    const why = /^WRONG .*has none of the files of this service/
    t.match(await doctor({ LAKE_DIR: app.config.lakeDir }), { ready: why, 'lake files': why })
  } finally {
    back()
  }
  t.match(await ready(), { ok: true })
})

t.test('a Postgres whose transactions count anew keeps the service from being ready', async (t) => {
  const [before] = await sql<{ below: string }[]>`select exported_below::text as below from lake_state`
  const ready = async () => await (await fetch(`${origin}/readyz`)).json()
  await sql`
    update lake_state
    set exported_below = (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000)::text::xid8`
  try {
    t.match(await ready(), { ok: false, missing: [/^lake: The lake has what came before transaction/] })
    t.match(await doctor(), {
      ready: /^WRONG .*moved here by a dump.*by recoup backup and recoup restore\.$/,
    })
  } finally {
    await sql`update lake_state set exported_below = ${before?.below ?? ''}::text::xid8`
  }
  t.match(await ready(), { ok: true })
})

t.test('a Postgres that takes no writes keeps the service from being ready', async (t) => {
  const server = await cluster(t)
  const admin = connect(server.adminUrl, { max: 1, onnotice: () => {} })
  t.teardown(() => admin.end())
  const dataDir = t.testdir()
  const own = await openApp(readConfig({ DATABASE_URL: server.url, DATA_DIR: dataDir }))
  t.teardown(() => own.close())
  t.same(await missingOf(own), [])
  await admin`set default_transaction_read_only = off`
  await admin`alter system set default_transaction_read_only = on`
  await admin`select pg_reload_conf()`
  const why = 'takes no writes: default_transaction_read_only is on'
  await eventually(async () => (await missingOf(own)).includes(`postgres: ${why}`))
  const said = await doctor({ DATABASE_URL: server.url, DATA_DIR: dataDir })
  t.match(said, { ready: `WRONG  ready: postgres: ${why}`, postgres: new RegExp(`^WRONG .*: ${why}$`) })
})

t.test('doctor names the files of the lake that are gone or cut off', async (t) => {
  const brand = await newBrand(app.pipeline)
  await refreshBrand(app.pipeline, brand.id)
  t.match(await doctor(), { 'lake files': /^ok {5}lake files: \d+ are there, none cut off$/ })
  const served = (await listedFiles(app.pipeline, brand.id)).map(({ path }) => path).sort()
  const [tables, rows] = served.map((path) => join(app.pipeline.lakeDir, path))
  rmSync(tables ?? '')
  truncateSync(rows ?? '', 10)
  t.match(await doctor(), {
    'lake files': `WRONG  lake files: missing or cut off in ${app.pipeline.lakeDir}: ${served.join(', ')}: recoup refresh`,
  })
})

t.test('doctor names the stores of which webhooks could not be read', async (t) => {
  t.match(await doctor(), { 'store webhooks': 'ok     store webhooks: none unread' })
  const brand = await newBrand(app.pipeline)
  await sql`
    insert into store_delivery (brand_id, webhook_id, topic, triggered_at, received_at, outcome, reason, payload)
    select ${brand.id}, id, 'orders/paid', now(), now(), 'dead', 'unread', ${Buffer.from('{}')}
    from unnest(${['one', 'other']}::text[]) as id`
  t.match(await doctor(), {
    'store webhooks': `WRONG  store webhooks: could not be read: 2 of ${brand.shop_domain}: see recoup store status`,
  })
})

t.test('doctor says what a disk that is nearly full means', (t) => {
  const lake = { path: '/lake', free: 0.5 }
  t.same(diskFinding([lake, { path: '/data', free: 0.05 }]), {
    ok: true,
    detail: '50 % free at /lake, 5 % free at /data',
  })
  t.match(diskFinding([lake, { path: '/data', free: 0.0499 }]), {
    ok: false,
    detail: '50 % free at /lake, 4 % free at /data: free some space. With less than 5 %',
  })
  t.end()
})
