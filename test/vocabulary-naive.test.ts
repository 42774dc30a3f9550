import type { DuckDBConnection } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { loadModels } from '../src/model/graph.ts'
import { compileCount } from '../src/segment/plan.ts'
import { definitionOf, readVocabulary } from '../src/segment/vocabulary.ts'
import type { ItemType } from '../src/segment/vocabulary-table.ts'
import { agree, type Sent } from './fixtures/evaluators.ts'
import type { Store } from './fixtures/oracle-rows.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'
import { randomCondition } from './fixtures/random-condition.ts'
import { randomVisits } from './fixtures/random-visits.ts'
import { openStore, randomStore } from './fixtures/segment-store.ts'
import { type Condition, vocabularyOf } from './fixtures/vocabulary-oracle.ts'

/** Conditions on profiles, as many on events, and as many of which segments are made; `make test-deep` takes more. */
const CONDITIONS = Number(process.env.VOCABULARY_CONDITIONS ?? 300)
const OF_A_STORE = 50
const CUSTOMERS = 40

const visits = (await loadModels()).find(({ name }) => name === 'stg_sessions')?.sql

/** A random store with visits and the events that they are made of. */
async function openVisited(t: Test, random: RandomSource): Promise<[DuckDBConnection, Store]> {
  const store = randomStore(random, CUSTOMERS)
  const events = randomVisits(random, CUSTOMERS)
  const ofProducts = events.filter(({ event_type }) => String(event_type).startsWith('product'))
  Object.assign(store.tables, {
    // As the model has it: nobody is without a count.
    customers: store.tables.customers?.map((row) => ({ ...row, orders_count: row.orders_count ?? '0' })),
    stg_events: events,
    stg_product_events: ofProducts.map(({ customer, event_type, occurred_at }) => ({
      ...{ customer, event_kind: event_type, occurred_at },
    })),
  })
  const connection = await openStore(t, store)
  await connection.run(`create table stg_sessions as ${visits}`)
  return [connection, store]
}

async function counted(connection: DuckDBConnection, condition: Condition, item: ItemType): Promise<number> {
  const { text, values } = compileCount(readVocabulary(condition, item).tree, item)
  return Number((await connection.runAndReadAll(text, values)).getRows()[0]?.[0])
}

/** A condition, and the rule that means the same; rules would take some times for text. */
function inSegments(random: RandomSource): [Condition, Sent] {
  for (;;) {
    const condition = randomCondition(random, 'member')
    try {
      return [condition, definitionOf(condition) as Sent]
    } catch (error) {
      if (!/: rules compare this as text/.test(String(error))) throw error
    }
  }
}

/** Stores until there were enough conditions. */
async function overStores(
  t: Test,
  work: (t: Test, random: RandomSource, connection: DuckDBConnection, store: Store) => Promise<void>,
): Promise<void> {
  const random = randomSource(t)
  for (let made = 0; made < CONDITIONS; made += OF_A_STORE)
    await t.test(`store ${made / OF_A_STORE}`, async (t) => {
      const [connection, store] = await openVisited(t, random)
      await work(t, random, connection, store)
      t.pass('both agree')
    })
}

t.test('counts of random conditions are those of a second implementation', async (t) => {
  let some = 0
  await overStores(t, async (t, random, connection, store) => {
    const oracle = vocabularyOf(store)
    for (let n = 0; n < OF_A_STORE; n++) {
      for (const item of ['profile', 'event'] as const) {
        const condition = randomCondition(random, item)
        const expected = item === 'profile' ? oracle.profiles(condition).length : oracle.events(condition)
        const found = await counted(connection, condition, item)
        if (found !== expected) t.equal(found, expected, `${item}: ${JSON.stringify(condition)}`)
        const all = store.tables[item === 'profile' ? 'customers' : 'stg_events']?.length
        if (expected > 0 && expected !== all) some++
      }
    }
  })
  t.ok(some > CONDITIONS, `${some} times some and not all`)
})

t.test('segments of random conditions have the profiles of a second implementation', async (t) => {
  await overStores(t, async (t, random, connection, store) => {
    const oracle = vocabularyOf(store)
    const asked = Array.from({ length: OF_A_STORE }, () => inSegments(random))
    const definitions = asked.map(([, definition]) => definition)
    const found = await agree(t, connection, store, definitions)
    for (const [n, [condition]] of asked.entries()) {
      const expected = oracle
        .profiles(condition)
        .filter(({ email, phone, store_customer_id }) => (email ?? phone ?? store_customer_id) !== null)
        .map(({ customer }) => customer)
      if (JSON.stringify(found[n]) !== JSON.stringify(expected))
        t.same(found[n], expected, JSON.stringify(condition))
    }
  })
})
