import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { importFile } from '../src/connect/import/import.ts'
import type { ImportKind } from '../src/connect/import/targets.ts'
import { connectionOf } from '../src/connect/store/connection.ts'
import { carryOut, meaningOf } from '../src/connect/store/meaning.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { atOnceIn } from './fixtures/at-once.ts'
import { database } from './fixtures/database.ts'
import { lake } from './fixtures/lake.ts'
import { connectedBrand, SEAL } from './fixtures/store.ts'
import { refund } from './fixtures/store-bodies.ts'

setLogLevel('error')

/** A file is imported while a webhook of the store is about to be committed. */
const db = await database(t)
const pipeline = await lake(t, db)
const { postgres, storePlatformDomain } = pipeline
const { sql } = postgres
const atOnce = atOnceIn(postgres)
const folder = mkdtempSync(join(tmpdir(), 'recoup-import-races-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const AT = '2026-11-20T10:00:00Z'
const shop = () => connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })

function importText(brand: Brand, kind: ImportKind, text: string, onProgress?: (done: number) => void) {
  const file = join(folder, `${brand.shop_domain}.csv`)
  writeFileSync(file, text)
  return importFile({ pipeline, brand, kind, file, onProgress })
}

async function whileTold(brand: Brand, topic: string, body: string, work: () => Promise<unknown>) {
  const of = postgres.forBrand(brand.id)
  const connection = await connectionOf(of, SEAL)
  if (!connection) throw new Error('there is no store')
  const told = { topic, webhookId: 'one', triggeredAt: AT, receivedAt: AT, body: Buffer.from(body) }
  const meaning = meaningOf(told, connection)
  if (!meaning) throw new Error(`${topic} means nothing`)
  // The last statement before the commit.
  const done = await atOnce(
    of,
    'store_connection_of',
    (met) =>
      met.tx(async (tx) => {
        await carryOut({ tx, storePlatformDomain, ...connection }, told, meaning)
        await tx.one('store_connection_of')
      }),
    work,
  )
  for (const one of done) if (one.status === 'rejected') throw one.reason
}

const REMOVED = {
  orders: {
    topic: 'orders/delete',
    text: 'external_id,created_at,total\n77,2026-11-20,5\n',
    table: 'store_order',
  },
  checkouts: {
    topic: 'checkouts/delete',
    text: 'external_id,created_at\n77,2026-11-20\n',
    table: 'checkout',
  },
  products: { topic: 'products/delete', text: 'id,title\n77,Lamp\n', table: 'product' },
} as const

for (const [kind, { topic, text, table }] of Object.entries(REMOVED))
  t.test(`${kind} that the store removes during their import stay hidden`, async (t) => {
    const brand = await shop()
    await whileTold(brand, topic, '{"id":77}', () => importText(brand, kind as ImportKind, text))
    t.match(await sql`select deleted from ${sql(table)} where brand_id = ${brand.id}`, [{ deleted: true }])
  })

t.test(
  'the first word of the store on a customer stays against an undated file of the same time',
  async (t) => {
    const brand = await shop()
    const imported = (name: string) =>
      importText(brand, 'customers', `customer_external_id,first_name\n77,${name}\n`)
    await imported('An')
    const body = JSON.stringify({ id: 77, first_name: 'Ann', created_at: AT, updated_at: AT })
    await whileTold(brand, 'customers/update', body, () => imported('Nancy'))
    t.match(await sql`select first_name from customer where brand_id = ${brand.id}`, [{ first_name: 'Ann' }])
  },
)

t.test('so does that on a refund', async (t) => {
  const brand = await shop()
  const file = 'external_id,order_external_id,total,created_at\n30,1001,5,2026-11-20\n'
  await whileTold(brand, 'refunds/create', refund(), () => importText(brand, 'refunds', file))
  t.match(await sql`select total from refund where brand_id = ${brand.id}`, [{ total: '20.50' }])
})

t.test('so does that on a subscription', async (t) => {
  const brand = await shop()
  const body = JSON.stringify({ id: 2, customer_id: 77, status: 'cancelled', created_at: AT, updated_at: AT })
  const file = 'external_id,customer_external_id,status\n2,77,active\n'
  await importText(brand, 'customers', 'customer_external_id,email\n77,ann@example.com\n')
  await whileTold(brand, 'subscription_contracts/update', body, () =>
    importText(brand, 'subscriptions', file),
  )
  t.match(await sql`select status from subscription where brand_id = ${brand.id}`, [{ status: 'cancelled' }])
})

t.test('beside a live store no more than 2,000 rows are written at once', async (t) => {
  const brand = await shop()
  const rows = Array.from({ length: 2_001 }, (_, id) => `${id},Lamp\n`)
  const done: number[] = []
  await importText(brand, 'products', `id,title\n${rows.join('')}`, (count) => done.push(count))
  const written = done.map((count, n) => count - (done[n - 1] ?? 0))
  t.ok(written.length === 2 && Math.max(...written) <= 2_000, written.join())
  t.equal(done.at(-1), rows.length)
})
