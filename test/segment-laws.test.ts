import type { DuckDBConnection } from '@duckdb/node-api'
import t from 'tap'
import { parseDefinition } from '../src/segment/definition.ts'
import { agree, planned, type Sent, segmentId } from './fixtures/evaluators.ts'
import { type Law, lawsOf, splitWindow } from './fixtures/laws.ts'
import type { Store } from './fixtures/oracle-rows.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'
import { randomComparison, randomDefinition, randomFamily, randomLong } from './fixtures/random-definition.ts'
import { openStore, randomStore } from './fixtures/segment-store.ts'

/** Definitions of each test; `make test-deep` takes more. */
const DEFINITIONS = Number(process.env.SEGMENT_DEFINITIONS ?? 500)
const BATCH = 100
const BATCHES = Math.ceil(DEFINITIONS / BATCH)
/** Batches over the same store. */
const STORE_BATCHES = 5
const CUSTOMERS = 60

/** Definitions of which some refer to others, but in no circle: before or after them, as after an edit. */
function batchOf(random: RandomSource): Sent[] {
  const ids = shuffle(
    random,
    Array.from({ length: BATCH }, (_, ordinal) => segmentId(ordinal)),
  )
  const made: Sent[] = []
  const add = () => made.push(randomDefinition(random, ids.slice(0, made.length)))
  for (let n = 0; n < 30; n++) add()
  for (let n = 0; n < 4; n++) made.push(randomLong(random, ids.slice(0, made.length)))
  for (let n = 0; n < 4; n++) made.push(...randomFamily(random, 10))
  while (made.length < BATCH) add()
  return made.map((_, ordinal) => made[ids.indexOf(segmentId(ordinal))] as Sent)
}

/** Many brands have nothing of a kind. */
async function empty(connection: DuckDBConnection, { tables }: Store): Promise<void> {
  for (const relation of ['stg_checkouts', 'stg_subscriptions', 'stg_engagement_events']) {
    await connection.run(`delete from ${relation}`)
    tables[relation] = []
  }
}

t.test(
  `planned, plain and shown SQL and the oracle agree on ${DEFINITIONS} random definitions`,
  async (t) => {
    const random = randomSource(t)
    let [members, definitions] = [0, 0]
    for (let stores = 0; stores < BATCHES / STORE_BATCHES; stores++) {
      await t.test(`store ${stores}`, async (t) => {
        const store = randomStore(random, CUSTOMERS)
        const connection = await openStore(t, store)
        for (let batch = 0; batch < STORE_BATCHES; batch++) {
          if (batch === STORE_BATCHES - 1) await empty(connection, store)
          const wanted = batchOf(random)
          definitions += wanted.length
          members += (await agree(t, connection, store, wanted)).flat().length
        }
        t.pass('the evaluators agree')
      })
    }
    t.ok(definitions >= DEFINITIONS, `${definitions} definitions`)
    t.ok(members > 10 * definitions, `${members} members in all`)
  },
)

/** The same rows in another order. */
const shuffled = (random: RandomSource, { tables, ...store }: Store): Store => ({
  ...store,
  tables: Object.fromEntries(
    Object.entries(tables).map(([relation, rows]) => [relation, shuffle(random, rows)]),
  ),
})

function shuffle<T>(random: RandomSource, rows: readonly T[]): T[] {
  const copy = [...rows]
  for (let n = copy.length - 1; n > 0; n--) {
    const other = random.below(n + 1)
    const [a, b] = [copy[n] as T, copy[other] as T]
    copy[n] = b
    copy[other] = a
  }
  return copy
}

/** What one side refers to is that side of a law that comes before. */
function lawsFor(random: RandomSource): Law[] {
  const laws: Law[] = []
  const definition = () =>
    randomDefinition(
      random,
      laws.map((_, ordinal) => segmentId(ordinal)),
    )
  while (laws.length < BATCH)
    laws.push(
      ...(random.chance(0.3)
        ? [splitWindow(random, (source) => random.list(0, 2, () => randomComparison(random, source)))]
        : lawsOf(random, definition(), definition())),
    )
  return laws
}

const evaluated = (connection: DuckDBConnection, definitions: readonly Sent[]) =>
  planned(
    connection,
    definitions.map((definition) => parseDefinition(definition)),
  )

t.test(
  `${DEFINITIONS} times two ways to say the same have the same members, in any order of rows`,
  async (t) => {
    const random = randomSource(t)
    const held = new Map<string, number>()
    for (let stores = 0; stores < BATCHES / STORE_BATCHES; stores++) {
      await t.test(`store ${stores}`, async (t) => {
        const store = randomStore(random, CUSTOMERS)
        const connection = await openStore(t, store)
        const inOtherOrder = await openStore(t, shuffled(random, store))
        for (let batch = 0; batch < STORE_BATCHES; batch++) {
          const laws = lawsFor(random)
          const [left, right] = [laws.map(({ sides }) => sides[0]), laws.map(({ sides }) => sides[1])]
          const expected = await evaluated(connection, left)
          const found = await evaluated(connection, right)
          const other = await evaluated(inOtherOrder, left)
          for (const [n, { name, sides }] of laws.entries()) {
            held.set(name, (held.get(name) ?? 0) + 1)
            const [a, b, c] = [expected[n], found[n], other[n]].map((members) => JSON.stringify(members))
            if (a !== b || a !== c)
              t.same(
                { found: found[n], other: other[n] },
                { found: expected[n], other: expected[n] },
                `${name}: ${JSON.stringify(sides)}`,
              )
          }
        }
        t.pass('the laws hold')
      })
    }
    t.equal(held.size, 6, [...held].map(([name, times]) => `${times} × ${name}`).join(', '))
  },
)
