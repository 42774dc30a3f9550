import type { DuckDBConnection } from '@duckdb/node-api'
import t from 'tap'
import { SOURCES, type SourceName } from '../src/segment/catalog.ts'
import { type Definition, parseDefinition } from '../src/segment/definition.ts'
import { compileOne, compileSegments, displayOne, plan } from '../src/segment/plan.ts'
import { oracle } from './fixtures/oracle.ts'
import { randomSource } from './fixtures/random.ts'
import { randomComparison, randomDefinition, randomFamily, takes } from './fixtures/random-definition.ts'
import { openStore, randomStore } from './fixtures/segment-store.ts'

type Values = (string | null)[]

async function column(connection: DuckDBConnection, text: string, values: Values = []): Promise<number[]> {
  const reader = await connection.runAndReadAll(text, values)
  return reader
    .getRows()
    .map(([customer]) => Number(customer))
    .sort((a, b) => a - b)
}

async function planned(connection: DuckDBConnection, trees: Definition[]): Promise<number[][]> {
  const { statements, members } = compileSegments(trees.map((tree, ordinal) => ({ ordinal, tree })))
  for (const { text, values } of statements) await connection.run(text, values)
  const found: number[][] = trees.map(() => [])
  const reader = await connection.runAndReadAll(members.text, members.values)
  for (const [segment, customer] of reader.getRows()) found[Number(segment)]?.push(Number(customer))
  return found.map((each) => each.sort((a, b) => a - b))
}

t.test('planned, plain and shown SQL and the oracle agree on 500 random definitions', async (t) => {
  const random = randomSource(t)
  const store = randomStore(random, 60)
  const connection = await openStore(t, store)
  let members = 0
  for (let batch = 0; batch < 5; batch++) {
    const definitions = [
      ...Array.from({ length: 60 }, () => randomDefinition(random)),
      ...Array.from({ length: 4 }, () => randomFamily(random, 10)).flat(),
    ]
    const trees = definitions.map((definition) => parseDefinition(definition))
    const together = await planned(connection, trees)
    for (const [index, definition] of definitions.entries()) {
      const tree = trees[index] as Definition
      const expected = oracle(definition, store)
      const { text, values } = compileOne(tree)
      const plain = await column(connection, text, values)
      const shown = await column(connection, displayOne(tree))
      members += expected.length
      const all = { planned: together[index], plain, shown }
      const wanted = { planned: expected, plain: expected, shown: expected }
      if (JSON.stringify(all) !== JSON.stringify(wanted)) {
        t.same(all, wanted, JSON.stringify(definition))
        if (process.env.FULL !== '1') return
      }
    }
  }
  t.ok(members > 500, `${members} members in all`)
})
