import { isInteger, isObject } from '../../exact.ts'
import type { Check, Rule } from '../evaluate.ts'
import { patternOf } from '../pattern.ts'
import { equal } from './equal.ts'

const TYPE_WORDS: Record<string, string> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'an integer',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint'

function isType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'integer':
      return isNumber(value) && isInteger(value)
    case 'number':
      return isNumber(value)
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    default:
      return typeof value === type
  }
}

/** A rule for values of one kind only; others satisfy it. */
const ofNumbers =
  (holds: (value: number | bigint, bound: number | bigint, check: Check) => boolean, words: string): Rule =>
  (at, bound) =>
    !isNumber(at.value) || holds(at.value, bound as number | bigint, at.check)
      ? null
      : at.problem(() => `must be ${words} ${bound}`)

const ofTexts =
  (holds: (value: string, length: number, check: Check) => boolean, words: string): Rule =>
  (at, length) =>
    typeof at.value !== 'string' || holds(at.value, length as number, at.check)
      ? null
      : at.problem(() => `must have ${words} ${length} characters`)

/** Code points, as JSON Schema counts; UTF-16 units tell enough in most cases. */
function codePoints(value: string, check: Check): number {
  check.spend(value.length / 10)
  let count = 0
  for (const _ of value) count++
  return count
}

/** Of what is no integer a quotient within a few units in the last place of one: 19.99 is a multiple of 0.01. */
function isMultiple(sent: number | bigint, by: number | bigint, check: Check): boolean {
  if ((typeof sent === 'bigint' || typeof by === 'bigint') && isInteger(sent) && isInteger(by))
    return BigInt(sent) % BigInt(by) === 0n
  const [value, divisor] = [Number(sent), Number(by)]
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  const quotient = value / divisor
  if (!Number.isFinite(quotient)) {
    // Bit by bit where numbers are that far apart.
    check.spend(30)
    return value % divisor === 0
  }
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * 2 ** -50
}

/** Whether a text has a match of a pattern, counted by what it may take. */
export function matches(check: Check, pattern: string, text: string): boolean {
  const engine = patternOf(pattern)
  if ('problem' in engine) throw new Error('a checked payload schema has a pattern that cannot be used')
  check.spend((text.length + 1) * engine.steps)
  return engine.test(text)
}

export const VALUE_RULES: Record<string, Rule> = {
  type(at, type) {
    const { value } = at
    if (Array.isArray(type) ? type.some((one) => isType(value, one)) : isType(value, type)) return null
    return at.problem(
      () =>
        `must be ${[type]
          .flat()
          .map((one) => TYPE_WORDS[one as string])
          .join(' or ')}`,
    )
  },
  enum(at, values) {
    for (const one of values as unknown[]) if (equal(at.value, one, at.check)) return null
    return at.problem(() => {
      const listed = JSON.stringify(values)
      return `must be one of ${listed.length > 200 ? 'the listed values' : listed.slice(1, -1)}`
    })
  },
  const(at, value) {
    if (equal(at.value, value, at.check)) return null
    return at.problem(() => {
      const said = JSON.stringify(at.schema.const)
      return `must be ${said.length > 200 ? 'the value that the schema says' : said}`
    })
  },

  multipleOf: ofNumbers(isMultiple, 'a multiple of'),
  maximum: ofNumbers((value, bound) => value <= bound, 'at most'),
  exclusiveMaximum: ofNumbers((value, bound) => value < bound, 'less than'),
  minimum: ofNumbers((value, bound) => value >= bound, 'at least'),
  exclusiveMinimum: ofNumbers((value, bound) => value > bound, 'greater than'),

  maxLength: ofTexts(
    (value, length, check) => value.length <= length || codePoints(value, check) <= length,
    'at most',
  ),
  minLength: ofTexts(
    (value, length, check) => value.length >= length && codePoints(value, check) >= length,
    'at least',
  ),
  pattern: (at, pattern) =>
    typeof at.value !== 'string' || matches(at.check, pattern as string, at.value)
      ? null
      : at.problem(() => `must match the pattern ${pattern}`),
}
