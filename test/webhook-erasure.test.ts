import { randomUUID } from 'node:crypto'
import t from 'tap'
import { deliver } from '../src/connect/custom/deliver.ts'
import { readBody } from '../src/connect/custom/delivery.ts'
import { cutIdentity } from '../src/connect/erase/cut.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { setLogLevel } from '../src/log.ts'
import type { Db } from '../src/op.ts'
import { atOnceIn } from './fixtures/at-once.ts'
import { database } from './fixtures/database.ts'
import { goOnErasing } from './fixtures/erasing.ts'
import { tick } from './fixtures/lake.ts'
import { eventsOf } from './fixtures/store.ts'
import { hooks, POINTS } from './fixtures/webhook.ts'

/** A customer is erased while a delivery that tells of them is on its way. */
setLogLevel('error')
const db = await database(t)
const { sql } = db.postgres
const { app, send, source } = await hooks(t, db)
const atOnce = atOnceIn(db.postgres)
const email = 'ada@example.com'

async function told() {
  const one = await source()
  const own = db.postgres.forBrand(one.brand.id)
  const sent = { eventId: randomUUID(), data: JSON.stringify({ id: 'a1', email, points: 4 }) }
  const raw = `{"type":"${POINTS.type}","event_id":"${sent.eventId}","data":${sent.data}}`
  const came = readBody(Buffer.from(raw), new Date())
  const { storePlatformDomain } = app.config
  const take = (db: Db) =>
    deliver({ db, brandId: one.brand.id, providerId: one.id, storePlatformDomain }, came)
  const cut = async () => {
    const { erasureId } = await own.tx((tx) => requestErasure(tx, { email }, 'a test'))
    await cutIdentity(app.pipeline, { brand_id: one.brand.id, id: erasureId })
  }
  return { one, own, sent, take, cut }
}

const recordsOf = (brandId: string) => sql`
  select 'contact' as kind from contact where brand_id = ${brandId}
  union all select 'record' from custom_event where brand_id = ${brandId}
  union all select 'customer' from customer where brand_id = ${brandId} and erased_at is null`

t.test('a delivery that came before its customer was erased stays out when it is sent again', async (t) => {
  const { one, own, sent, take, cut } = await told()
  await cut()
  t.same(await take(own), { deduplicated: true })
  t.match(await send(one, sent), { status: 200, body: { deduplicated: true } })
  t.same(await recordsOf(one.brand.id), [])
  t.same(await eventsOf(db, one.brand), [])
})

t.test('what a delivery stores while its customer is erased is erased, too', async (t) => {
  const { one, own, sent, take, cut } = await told()
  await send(one, { data: sent.data })
  await tick(app.pipeline)
  const [taken] = await atOnce(own, 'custom_delivery_claim', take, cut)
  t.match(taken, { status: 'fulfilled', value: { ok: true } })
  await goOnErasing(app.pipeline, one.brand.id)
  await tick(app.pipeline)
  t.same(await recordsOf(one.brand.id), [])
  t.same(await eventsOf(db, one.brand), [])
  t.match(await send(one, sent), { status: 200, body: { deduplicated: true } })
})
