import t from 'tap'
import { receiveMessage } from '../src/campaign/receive.ts'
import { setLogLevel } from '../src/log.ts'
import type { Db } from '../src/op.ts'
import { atOnceIn } from './fixtures/at-once.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'

/** Messages that come in two transactions at once. */
setLogLevel('error')
const { postgres } = await database(t)
const { sql } = postgres
const atOnce = atOnceIn(postgres)

t.test('two first messages of an unknown number begin one conversation', async (t) => {
  const { id: brandId } = await newBrand({ postgres })
  const say = (gatewayId: string) => (db: Db) =>
    receiveMessage(
      { db, brandId, storePlatformDomain: 'myshopify.com' },
      { channel: 'sms', gatewayId, from: '+12025550101', text: 'Hello', at: new Date() },
    )
  await atOnce(postgres.forBrand(brandId), 'contact_lock', say('in_1'), say('in_2'))
  const messages = await sql<{ conversation_id: string }[]>`
    select conversation_id from message where brand_id = ${brandId}`
  t.equal(messages.length, 2)
  t.equal(new Set(messages.map(({ conversation_id }) => conversation_id)).size, 1)
})
