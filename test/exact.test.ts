import t from 'tap'
import { digitsOf, parseExactly } from '../src/event/exact.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'

/** What a reviver makes of it, which is told the text of each number. */
const revived = (text: string) =>
  JSON.parse(text, ((_key: string, value: unknown, context: { source: string }) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
      ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(context.source)
      : value) as (key: string, value: unknown) => unknown)

const LONG = '12345678901234567890'
const NUMBERS = [
  ...['0', '-0', '7', '-1.5', '9007199254740991', '9007199254740992', '-9007199254740993', '1e400'],
  ...['1e20', '-1E+20', '1e-20', '12345678901234567890', '12345678901234567890.0', '12345678901234567.25'],
]
const TEXTS = ['', 'a', '12345678901234567890', '-1e20', ':12345678901234567890,', '"', '\\', '\\"', 'é😀']

function randomJson(random: RandomSource, depth = 0): string {
  const inside = () => randomJson(random, depth + 1)
  const kind = random.below(depth > 4 ? 3 : 5)
  if (kind === 0) return random.pick(NUMBERS)
  if (kind === 1) return JSON.stringify(random.pick(TEXTS))
  if (kind === 2) return random.pick(['true', 'false', 'null'])
  const space = () => random.pick(['', '', ' ', '\n'])
  if (kind === 3) return `[${random.list(0, 4, inside).join(`${space()},${space()}`)}]`
  const members = random.list(
    0,
    4,
    () => `${JSON.stringify(random.pick(TEXTS))}${space()}:${space()}${inside()}`,
  )
  return `{${members.join(`${space()},`)}}`
}

t.test('every integer that a double may change keeps its digits, and nothing else is changed', async (t) => {
  const random = randomSource(t)
  for (let n = 0; n < 2_000; n++) {
    const text = randomJson(random)
    const [found, wanted] = [parseExactly(text), revived(text)]
    if (JSON.stringify(found) !== JSON.stringify(wanted)) t.same(found, wanted, text)
  }
  t.equal(digitsOf(parseExactly('-9007199254740993')), '-9007199254740993')
  t.equal(digitsOf(parseExactly('1e20')), '100000000000000000000')
})

t.test('a key that objects have a meaning for is a key', async (t) => {
  const found = parseExactly('{"__proto__":12345678901234567890}') as object
  t.same(Object.keys(found), ['__proto__'])
  t.equal(Object.getPrototypeOf(found), Object.prototype)
})

t.test('nesting may be as deep as its sender likes', async (t) => {
  const deep = 200_000
  let found = parseExactly(`${'['.repeat(deep)}12345678901234567890${']'.repeat(deep)}`)
  for (let level = 0; level < deep; level++) [found] = found as unknown[]
  t.equal(digitsOf(found), '12345678901234567890')
})

t.test('what is no JSON stays none', async (t) => {
  for (const text of [
    '',
    `${LONG}x`,
    `${LONG}.`,
    `0${LONG}`,
    `--${LONG}`,
    `[${LONG}`,
    `"${LONG}`,
    '1.2.3',
    '01',
  ])
    t.throws(() => parseExactly(text), SyntaxError, text)
})
