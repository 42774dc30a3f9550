import t from 'tap'
import { ShopLife } from '../src/connect/demo/store/life.ts'
import { ShopState } from '../src/connect/demo/store/state.ts'
import { database } from './fixtures/database.ts'
import { randomSource } from './fixtures/random.ts'
import { connectedBrand, eventsOf, storeServer } from './fixtures/store.ts'
import { storeState } from './fixtures/store-state.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { send } = await storeServer(t, db)
const DAY_MS = 86_400_000
const YESTERDAY = new Date(Date.now() - 2 * DAY_MS)

t.test(
  'any order and repetition of a history of webhooks ends in the same state and the same events',
  async (t) => {
    const random = randomSource(t)
    const life = new ShopLife(new ShopState(), random, YESTERDAY)
    life.open({ products: 4, customers: 6 })
    for (let step = 0; step < 60; step++) life.step()
    const history = life.messages().map((message, at) => ({ ...message, webhookId: `w${at}` }))
    t.comment(`${history.length} webhooks`)

    const told = async (messages: typeof history) => {
      const brand = await connectedBrand(db, { connectedAt: YESTERDAY })
      for (const message of messages) t.equal((await send(brand, message)).status, 200)
      const events = await eventsOf(db, brand)
      t.equal(new Set(events.map(({ event_id }) => event_id)).size, events.length, 'each event once')
      return {
        state: await storeState(db, brand),
        events: events.map(({ event_id, event_type }) => `${event_type} ${event_id}`).sort(),
      }
    }
    const wanted = await told(history)
    t.ok(wanted.events.length > 40)
    for (let round = 0; round < 2; round++) {
      const again = history.flatMap((message, at) =>
        random.chance(0.3) ? [message, { ...message, webhookId: `again${at}` }] : [message],
      )
      const found = await told(shuffled(again, random.below))
      t.strictSame(found.events, wanted.events)
      t.strictSame(found.state, wanted.state)
    }
  },
)

function shuffled<T>(list: readonly T[], below: (limit: number) => number): T[] {
  const mixed = [...list]
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = below(at + 1)
    ;[mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T]
  }
  return mixed
}
