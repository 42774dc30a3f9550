import t from 'tap'
import { createSeal } from '../src/access/seal.ts'
import { createDefinition, updateDefinition } from '../src/connect/custom/definitions.ts'
import { createProvider } from '../src/connect/custom/providers.ts'
import { setLogLevel } from '../src/log.ts'
import type { Db } from '../src/op.ts'
import { renameEventInSegments } from '../src/segment/rename-event.ts'
import { createSegment } from '../src/segment/saved.ts'
import { SEAL_KEY, WEBHOOK_ORIGIN } from './fixtures/api.ts'
import { atOnceIn } from './fixtures/at-once.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { POINTS } from './fixtures/webhook.ts'

/** Event types of two providers get other names in two transactions at once. */
setLogLevel('error')
const { postgres } = await database(t)
const atOnce = atOnceIn(postgres)

async function namedType(db: Db, name: string) {
  const making = { seal: createSeal(SEAL_KEY), webhookUrl: WEBHOOK_ORIGIN, withKey: false }
  const { id: providerId } = await createProvider(db, { name }, making)
  const { id } = await createDefinition(db, providerId, POINTS)
  return (type: string) => (of: Db) =>
    updateDefinition(of, { providerId, id, by: 'test' }, { type }, [renameEventInSegments])
}

t.test('a type of two providers that both rename at once is called as the last one has it', async (t) => {
  const { id: brandId } = await newBrand({ postgres })
  const db = postgres.forBrand(brandId)
  const [first, last] = [await namedType(db, 'Stamps'), await namedType(db, 'Badges')]
  const rule = { field: 'event_kind', op: '=', value: POINTS.type }
  const definition = { source: 'product_events', rule }
  const { id } = await createSegment(db, { name: 'Named', definition, createdBy: 'test' })
  const done = await atOnce(db, 'definition_type_used', first('stamped'), last('badge_won'))
  t.match(done, [{ status: 'fulfilled' }, { status: 'fulfilled' }])
  t.match(await db.one('segment_by_id', [id]), { version: 2, definition: /"value":"badge_won"/ })
})
