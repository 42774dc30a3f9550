import t from 'tap'
import { decimalOf, digitsOf, parseExactly, parseStored } from '../src/event/exact.ts'
import { parseDecimal } from '../src/segment/decimal.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'

/** What a reviver makes of it, which is told the text of each number. */
const revived = (text: string) =>
  JSON.parse(text, ((_key: string, value: unknown, context: { source: string }) =>
    typeof value === 'number' && loses(value, context.source)
      ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(context.source)
      : value) as (key: string, value: unknown) => unknown)

/** An integer beyond 2^53, or a number that is another one as a double. */
function loses(value: number, source: string): boolean {
  if (value === 0 || !Number.isFinite(value)) return false
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return true
  const [sent, held] = [parseDecimal(source), parseDecimal(String(value))]
  if (!sent || !held) throw new Error(`${source} is no decimal number`)
  return sent.units * 10n ** BigInt(held.scale) !== held.units * 10n ** BigInt(sent.scale)
}

const LONG = '12345678901234567890'
const NUMBERS = [
  ...['0', '-0', '7', '-1.5', '9007199254740991', '9007199254740992', '-9007199254740993', '1e400'],
  ...['1e20', '-1E+20', '1e-20', '12345678901234567890', '12345678901234567890.0', '12345678901234567.25'],
  ...['1234567890123456.78', '-0.1234567890123456789', '0.10000000000000000000', '0.30000000000000004'],
  ...['1.23456789012345678e-5', '1234567890123456789E-20', '10.00000000000000e1', '99.99', '1e-400'],
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

t.test('every number that a double may change keeps its digits, and nothing else is changed', async (t) => {
  const random = randomSource(t)
  for (let n = 0; n < 2_000; n++) {
    const text = randomJson(random)
    const [found, wanted] = [parseExactly(text), revived(text)]
    if (JSON.stringify(found) !== JSON.stringify(wanted)) t.same(found, wanted, text)
  }
  t.equal(digitsOf(parseExactly('-9007199254740993')), '-9007199254740993')
  t.equal(digitsOf(parseExactly('1e20')), '100000000000000000000')
})

t.test('equal numbers are the same text, however they are written', async (t) => {
  for (const [written, texts] of Object.entries({
    '1234567890123456.78': ['1234567890123456.780', '1.23456789012345678e15', '123456789012345678E-2'],
    '-0.000123456789012345678': [
      '-1.23456789012345678e-4',
      '-0.0001234567890123456780',
      '-123456789012345678e-21',
    ],
    '12345678901234567': ['12345678901234567.0', '1.2345678901234567e16'],
    '1000000000000000000': ['1e18', '1000000000000000000.0'],
  }))
    for (const text of [written, ...texts])
      t.match([undefined, written], [decimalOf(Number(text)), decimalOf(parseExactly(text))], text)
  t.equal(digitsOf(parseExactly('1234567890123456.78')), undefined)
})

t.test('text that was stored is read with all digits', async (t) => {
  for (const text of ['[1234567890123456.78]', '[0.1234567890123456789]', '[9007199254740993]', '[99.99]'])
    t.equal(JSON.stringify(parseStored(text)), text)
})

t.test('a number may be as long as its sender likes', async (t) => {
  const zeros = '0'.repeat(1_000_000)
  t.equal(decimalOf(parseExactly(`1.${zeros}1`))?.length, zeros.length + 3)
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
