import t from 'tap'
import { parseExactly } from '../src/event/exact.ts'
import { Check, nothingSeen, TooMuchWork } from '../src/event/payload-schema/evaluate.ts'
import { MAX_WORK } from '../src/event/payload-schema/limits.ts'
import { RULES } from '../src/event/payload-schema/rules.ts'
import { checkSchema, validatePayload } from '../src/event/payload-schema.ts'
import { walk } from '../src/event/walk.ts'
import { ASKING, askingSchemas, SHAPES } from './fixtures/payload-shapes.ts'

t.test('every keyword that is held against data has schemas here', async (t) => {
  t.same(Object.keys(ASKING).sort(), [...RULES.keys()].sort())
})

t.test('the shapes of data are as large as an event can be', async (t) => {
  for (const [name, a] of Object.entries(SHAPES)) {
    t.ok(Buffer.byteLength(JSON.stringify({ a })) < 256 * 1_024, name)
    walk({ a }, 'data', 1, true, (path, message) => t.fail(`${name}: ${path} ${message}`))
  }
})

/** As they come in a delivery. */
const exactly = <Value>(value: Value) => parseExactly(JSON.stringify(value)) as Value
const EXACT_SHAPES = exactly(SHAPES)

/** Milliseconds of CPU time. */
function cpuOf(work: () => unknown): number {
  const from = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1_000
}

t.test('no keyword takes long for data of any shape', async (t) => {
  // On a fast machine 50; what is not bounded takes seconds.
  const most = 400
  let worst = { name: '', took: 0 }
  for (const { name, schema } of exactly([...askingSchemas()])) {
    checkSchema(schema, name)
    for (const [shape, a] of Object.entries(EXACT_SHAPES)) {
      let took = Number.POSITIVE_INFINITY
      for (let times = 0; times < 3 && took > most; times++)
        took = Math.min(
          took,
          cpuOf(() => validatePayload(schema, { a })),
        )
      if (took > most) t.fail(`${name}, ${shape}: ${took} ms`)
      if (took > worst.took) worst = { name: `${name}, ${shape}`, took }
    }
  }
  t.comment(`worst: ${worst.name}, ${worst.took.toFixed(1)} ms`)
  t.ok(worst.took > 0 && worst.took <= most)
})

function workOf(schema: object, data: unknown): number {
  const check = new Check(schema as Record<string, unknown>)
  try {
    check.run(check.root, data, null, nothingSeen())
    return check.workDone
  } catch (error) {
    if (error instanceof TooMuchWork) return MAX_WORK
    throw error
  }
}

const many = <Item>(count: number, item: (at: number) => Item) =>
  Array.from({ length: count }, (_, at) => item(at))
const names = <Item>(count: number, item: (at: number) => Item) =>
  Object.fromEntries(many(count, (at) => [`n${at}`, item(at)]))
const text = (length: number, end = '') => 'x'.repeat(length - end.length) + end

t.test('work is in proportion to what is looked at', async (t) => {
  const draft07 = { $schema: 'http://json-schema.org/draft-07/schema#' }
  /** Of a size: a schema, data, and how much of the size one of work may be for. */
  const looks: [string, (size: number) => [schema: object, data: unknown], forOne: number][] = [
    ['items of an equal list', (size) => [{ const: many(size, () => 0) }, many(size, () => 0)], 1],
    ['names of an object', (size) => [{ not: { const: {} } }, names(size, () => 0)], 1],
    ['names of an equal object', (size) => [{ enum: [1, names(size, () => 0)] }, names(size, () => 0)], 0.5],
    ['a text', (size) => [{ not: { const: text(size, 'y') } }, text(size, 'z')], 200],
    ['texts of an enum', (size) => [{ enum: many(5, (at) => text(size, `${at}`)) }, text(size, 'z')], 50],
    ['a text among items', (size) => [{ uniqueItems: true }, [text(size)]], 50],
    ['a name among items', (size) => [{ uniqueItems: true }, [{ [text(size)]: 1 }]], 50],
    ['names of an item', (size) => [{ uniqueItems: true }, [names(size, () => 1)]], 0.5],
    ['unique items', (size) => [{ uniqueItems: true }, many(size, (at) => at)], 1],
    ['a required name', (size) => [{ not: { required: [text(size)] } }, {}], 200],
    ['counted names', (size) => [{ minProperties: 1 }, names(size, () => 1)], 1],
    ['pattern names', (size) => [{ patternProperties: names(size, () => true) }, {}], 1],
    [
      'pattern names beside',
      (size) => [{ patternProperties: names(size, () => true), additionalProperties: false }, {}],
      0.5,
    ],
    ['the text of a match', (size) => [{ pattern: 'q|x' }, text(size)], 1],
    ['the text of a match in one way', (size) => [{ pattern: '^[a-z]*$' }, text(size)], 1],
    ['the names of a match', (size) => [{ patternProperties: { q: true } }, { [text(size)]: 1 }], 1],
    ['names that are schemas’ data', (size) => [{ propertyNames: true }, names(size, () => 1)], 0.5],
    ['names known', (size) => [{ properties: names(size, () => true) }, {}], 1],
    ['dependent names', (size) => [{ dependentRequired: names(size, () => []) }, {}], 1],
    ['dependent schemas', (size) => [{ dependentSchemas: names(size, () => true) }, {}], 1],
    ['dependencies', (size) => [{ ...draft07, dependencies: names(size, () => true) }, {}], 1],
    ['evaluated items', (size) => [{ items: true, unevaluatedItems: false }, many(size, () => 0)], 0.2],
    ['items that are contained', (size) => [{ contains: true }, many(size, () => 0)], 0.5],
    ['characters', (size) => [{ minLength: 1 }, text(size)], 10],
    ['a reference', (size) => [{ $ref: `#/$defs/${text(size)}`, $defs: { [text(size)]: true } }, 1], 200],
  ]
  for (const [name, look, forOne] of looks)
    for (const size of [20, 400, 10_000]) {
      const work = workOf(...look(size))
      t.ok(work >= Math.min(size / forOne, MAX_WORK), `${name}: ${work} for ${size}`)
    }
})
