import t from 'tap'
import { v7 } from 'uuid'
import { connectionOf } from '../src/connect/store/connection.ts'
import { carryOut, meaningOf } from '../src/connect/store/meaning.ts'
import { atOnceIn } from './fixtures/at-once.ts'
import { database } from './fixtures/database.ts'
import { connectedBrand, eventsOf, SEAL } from './fixtures/store.ts'
import { checkout, order } from './fixtures/store-bodies.ts'

/** Words of the store on a checkout while a message about it is sent. */
const db = await database(t)
const { postgres } = db
const { sql } = postgres
const atOnce = atOnceIn(postgres)
const SENT_AT = new Date('2026-11-20T12:00:00Z')
const ORDERED_AT = '2026-11-20T13:00:00Z'

t.test(
  'an order that comes while the first message is about to be committed is recovered by it',
  async (t) => {
    const brand = await connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })
    const of = postgres.forBrand(brand.id)
    const connection = await connectionOf(of, SEAL)
    if (!connection) throw new Error('there is no store')
    const say = async (topic: string, body: string) => {
      const told = {
        topic,
        webhookId: v7(),
        triggeredAt: ORDERED_AT,
        receivedAt: ORDERED_AT,
        body: Buffer.from(body),
      }
      const meaning = meaningOf(told, connection)
      if (!meaning) throw new Error(`${topic} means nothing`)
      await of.tx((tx) =>
        carryOut({ tx, storePlatformDomain: 'myshopify.com', ...connection }, told, meaning),
      )
    }
    await say('checkouts/create', checkout())
    const conversation = v7()
    await sql`
    insert into conversation (brand_id, id, channel, created_at, checkout_id)
    select ${brand.id}, ${conversation}, 'email', ${SENT_AT}, id from checkout where brand_id = ${brand.id}`
    const done = await atOnce(
      of,
      'store_connection_of',
      (met) =>
        met.tx(async (tx) => {
          await tx.run('checkouts_of_conversations_sent', [[conversation], SENT_AT])
          await tx.one('store_connection_of')
        }),
      () => say('orders/create', order({ checkout_id: 501, created_at: ORDERED_AT, updated_at: ORDERED_AT })),
    )
    for (const one of done) if (one.status === 'rejected') throw one.reason
    t.match(await sql`select state from checkout where brand_id = ${brand.id}`, [{ state: 'recovered' }])
    const events = (await eventsOf(db, brand)).map(({ event_type }) => event_type)
    t.ok(events.includes('checkout_recovered'))
  },
)
