import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { importFile } from '../src/connect/import/import.ts'
import type { Brand } from '../src/op.ts'
import { database } from './fixtures/database.ts'
import { lake } from './fixtures/lake.ts'
import { connectedBrand, storeServer } from './fixtures/store.ts'
import { checkout, order } from './fixtures/store-bodies.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const pipeline = await lake(t, db)
const { send } = await storeServer(t, db)
const folder = mkdtempSync(join(tmpdir(), 'recoup-store-late-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const shop = () => connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })
const at = (time: string) => `2026-11-20T${time}Z`

/** A version of the store, written at a time. */
const tell = (brand: Brand, updated_at: string, changes: object = {}) =>
  send(brand, {
    topic: 'orders/updated',
    body: order({ ...changes, updated_at }),
    triggeredAt: new Date(updated_at),
  })

/** A file that was written later, by when 40.00 were given back. */
async function importNewer(brand: Brand): Promise<void> {
  const file = join(folder, `${brand.id}.csv`)
  writeFileSync(
    file,
    [
      'external_id,total,refunded_total,state,billing_status,created_at,updated_at',
      `1001,120.50,40.00,complete,partially_refunded,${at('10:00:00')},${at('15:00:00')}`,
    ].join('\n'),
  )
  await importFile({ pipeline, brand, kind: 'orders', file })
}

const AS_THE_FILE_HAS_IT = { refunded_total: '40.00', billing_status: 'partially_refunded' }
const orderOf = async ({ id }: Brand) => {
  const [row] = await db.postgres.sql`select * from store_order where brand_id = ${id}`
  return row
}

t.test('a version of the store that comes late takes nothing from what a newer file says', async (t) => {
  const brand = await shop()
  await importNewer(brand)
  await tell(brand, at('11:00:00'))
  t.match(await orderOf(brand), AS_THE_FILE_HAS_IT)
})

t.test('nor does it where the store had told of the order before', async (t) => {
  const brand = await shop()
  await tell(brand, at('10:00:00'), { financial_status: 'pending' })
  await importNewer(brand)
  await tell(brand, at('11:00:00'))
  t.match(await orderOf(brand), AS_THE_FILE_HAS_IT)
})

t.test('a version of the store that is newer than the file stands', async (t) => {
  const brand = await shop()
  await importNewer(brand)
  await tell(brand, at('16:00:00'))
  t.match(await orderOf(brand), { refunded_total: '0.00', billing_status: 'paid' })
})

t.test('a version that comes late still says which checkout the order is of', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'checkouts/create', body: checkout() })
  await importNewer(brand)
  await tell(brand, at('11:00:00'), { checkout_id: 501 })
  t.match(await orderOf(brand), { ...AS_THE_FILE_HAS_IT, checkout_external_id: '501' })
})
