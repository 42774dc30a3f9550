import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { serviceSeal } from '../src/access/service-seal.ts'
import { openApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { ShopLife } from '../src/connect/demo/store/life.ts'
import { ShopState } from '../src/connect/demo/store/state.ts'
import { saveConnection } from '../src/connect/store/connection.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { randomSource } from './fixtures/random.ts'
import { recoup, startRecoup } from './fixtures/recoup.ts'

const folder = mkdtempSync(join(tmpdir(), 'recoup-demo-store-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const receiver = createServer((_request, response) => response.end()).listen(0, '127.0.0.1')
t.teardown(() => receiver.close())
await once(receiver, 'listening')
const { port } = receiver.address() as AddressInfo
const db = await database(t)
const env = { DATABASE_URL: db.url, DATA_DIR: folder, WEBHOOK_URL: `http://127.0.0.1:${port}` }

const brand = async (shop: string): Promise<string> => {
  const made = await recoup(['brand', 'create', '--name', shop, '--shop', shop, '--json'], { env })
  return JSON.parse(made.stdout).brand_id
}
const args = (shop: string) => ['demo', 'store', '--brand', shop, '--history', '2', '--every', '1', '--json']
const refused = (stderr: RegExp) => ({ code: 1, stdout: '', stderr })

/** Lets the store live until it sent webhooks. */
async function followed(shop: string) {
  const { child, output, ended } = startRecoup(args(shop), { env })
  await eventually(async () => child.exitCode !== null || output.stderr.includes('webhooks sent: '))
  child.kill('SIGINT')
  return await ended
}

t.test('an empty brand follows a demo store, and the same again', async (t) => {
  await brand('new')
  t.match(await followed('new'), { code: 0 })
  t.match(await followed('new'), { code: 0 })
})

t.test('a brand that recoup demo filled follows a demo store', async (t) => {
  await brand('filled')
  await recoup(['demo', '--brand', 'filled', '--customers', '20', '--days', '30'], { env })
  t.match(await followed('filled'), { code: 0 })
})

t.test('a brand with data of its own is left as it is', async (t) => {
  await brand('own')
  const orders = join(folder, 'own.csv')
  writeFileSync(orders, 'external_id,created_at,total\n1,2026-01-01,10.00\n')
  await recoup(['import', 'orders', orders, '--brand', 'own'], { env })
  t.match(await followed('own'), refused(/^recoup: The brand has customers, orders or products/))
})

t.test('a brand with a live store keeps it', async (t) => {
  const brandId = await brand('live')
  const app = await openApp(readConfig(env))
  t.teardown(app.close)
  await saveConnection(app.postgres.forBrand(brandId), brandId, await serviceSeal(app), {
    platform: 'shopify',
    shopDomain: 'live.myshopify.com',
    apiOrigin: null,
    accessToken: 'shpat_live',
    webhookSecret: 'its own',
    scopes: [],
    connectedAt: new Date(),
    abandonedAfterMinutes: null,
    currency: null,
    subscribes: true,
  })
  t.match(await followed('live'), refused(/^recoup: The brand is connected to live\.myshopify\.com/))
})

t.test('what shoppers leave stays in the store long enough to be abandoned', async (t) => {
  const life = new ShopLife(new ShopState(), randomSource(t), new Date('2026-11-01T00:00:00Z'))
  life.open({ products: 12, customers: 60 })
  for (let step = 0; step < 1000; step++) life.step()
  const before = life.messages()
  t.ok(
    before.some(({ topic }) => topic === 'checkouts/delete'),
    'in the end the store removes it',
  )
  life.live()
  for (let step = 0; step < 300; step++) life.step()
  const told = life.messages()
  const ids = (topic: string) =>
    new Set(told.filter((one) => one.topic === topic).map(({ body }) => /"id":(\d+)/.exec(body)?.[1]))
  const made = ids('checkouts/create')
  const removed = [...ids('checkouts/delete')].filter((id) => made.has(id))
  t.ok(made.size > 20)
  t.same(removed, [], 'of five minutes ago none is removed')
})
