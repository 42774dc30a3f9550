import { randomUUID } from 'node:crypto'
import t from 'tap'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { eventsOf } from './fixtures/store.ts'
import { hooks, type Sending, type Source } from './fixtures/webhook.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { sql } = db.postgres
const { send, source, port } = await hooks(t, db)

const TABLES = ['custom_event', 'custom_delivery', 'contact', 'dead_letter'] as const
/** How many rows of each table a brand has, and events in the log. */
async function stored({ brand }: Pick<Source, 'brand'>) {
  const counts: Record<string, number> = {}
  for (const table of TABLES) {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::integer as n from ${sql(table)} where brand_id = ${brand.id}`
    counts[table] = row?.n ?? 0
  }
  return { ...counts, events: (await eventsOf(db, brand)).length }
}
const NOTHING = { custom_event: 0, custom_delivery: 0, contact: 0, dead_letter: 0, events: 0 }
const ONE = { custom_event: 1, custom_delivery: 1, contact: 1, dead_letter: 0, events: 1 }
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/

t.test('a delivery is a contact, a record and an event in the log', async (t) => {
  const one = await source()
  const answer = await send(one, { eventId: 'e1' })
  t.match(answer, { status: 200, body: { ok: true, custom_event_id: UUID, flow_event_id: null } })
  t.same(Object.keys(answer.body), ['ok', 'custom_event_id', 'flow_event_id'])
  t.same(await stored(one), ONE)
})
