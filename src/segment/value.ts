import { decimalOf, isObject } from '../event/exact.ts'
import { member, refusal, shown, unknownName } from './complaint.ts'
import { parseDecimal } from './decimal.ts'
import { type Value, type ValueType, value } from './expression.ts'
import { type FieldType, LIMITS, type Operator } from './operators.ts'

/** What a condition's value is compared with: how it is read, and what it is stored as. */
export interface Operand {
  type: FieldType
  stored: ValueType
  /** All the values that there can be. */
  oneOf?: readonly string[]
}

export const STORED: Readonly<Record<FieldType, ValueType>> = {
  number: 'integer',
  money: 'money',
  time: 'time',
  string: 'text',
  email: 'text',
  tag: 'text',
  boolean: 'boolean',
}

/** Reads the `value` of a condition as the operator takes it; throws `bad_request` that begins with the path. */
export function readOperand(
  operator: Operator,
  operand: Operand,
  json: unknown,
  path: string,
): { values: Value[]; days: number } {
  const one = (item: unknown, at: string) => value(operand.stored, readText(operand, item, at))
  switch (operator.value) {
    case 'none':
      return { values: [], days: 0 }
    case 'one':
      return { values: [one(json, path)], days: 0 }
    case 'part': {
      // Any text contains the empty one: no rule means that.
      const part = readText({ ...operand, oneOf: undefined }, json, path)
      if (part === '') throw refusal(path, 'must not be empty')
      return { values: [value(operand.stored, part)], days: 0 }
    }
    case 'days':
      return { values: [], days: readDays(json, path) }
    case 'list':
    case 'pair': {
      const items = readList(json, path, operator.value)
      const values = items.map((item, index) => one(item, `${path}[${index}]`))
      if (operator.value === 'pair') checkOrder(operand, values, path)
      return { values, days: 0 }
    }
  }
}

/** The `value` of a condition; refused where the operator takes none, or needs one. */
export function givenTo(
  { value: shape }: Operator,
  condition: ReadonlyMap<string, unknown>,
  path: string,
): unknown {
  const isGiven = condition.has('value')
  if (shape === 'none' && isGiven) throw refusal(`${path}.value`, 'this operator takes no value')
  if (shape !== 'none' && !isGiven) throw refusal(`${path}.value`, 'is required')
  return condition.get('value')
}

/** A window: `{ days }` of 1 to 1,095. */
export function readDays(json: unknown, path: string, fallback?: number): number {
  const object = readObject(json, path, ['days'])
  const days = object.has('days') ? object.get('days') : fallback
  return readInteger(days, `${path}.days`, 1, LIMITS.maxDays)
}

export function readInteger(json: unknown, path: string, least: number, most: number): number {
  if (typeof json === 'number' && Number.isInteger(json) && json >= least && json <= most) return json
  throw refusal(path, `must be an integer from ${least} to ${most}, not ${shown(json)}`)
}

/** The own keys of an object, none but the known ones. */
export function readObject(json: unknown, path: string, known: readonly string[]): Map<string, unknown> {
  const keys = known.length > 0 ? ` with ${known.join(', ')}` : ''
  if (!isObject(json)) throw refusal(path, `must be an object${keys}, not ${shown(json)}`)
  const missing = known.filter((key) => !Object.hasOwn(json, key))
  for (const key of Object.keys(json))
    if (!known.includes(key)) throw unknownName(member(path, key), key, 'a key here', known, missing)
  return new Map(Object.entries(json))
}

function readList(json: unknown, path: string, kind: 'list' | 'pair'): unknown[] {
  if (!Array.isArray(json)) throw refusal(path, `must be a list, not ${shown(json)}`)
  if (kind === 'pair' && json.length !== 2) throw refusal(path, `must have two values, not ${json.length}`)
  if (json.length === 0 || json.length > LIMITS.listValues)
    throw refusal(path, `must have 1 to ${LIMITS.listValues} values, not ${json.length}`)
  return json
}

function checkOrder({ type }: Operand, [low, high]: Value[], path: string): void {
  const [from, to] = [low?.value ?? '', high?.value ?? '']
  const wrong = type === 'time' ? from > to : lessThan(to, from)
  if (wrong) throw refusal(path, 'the first value must not be greater than the second')
}

/** Of two decimal numbers. */
function lessThan(a: string, b: string): boolean {
  const [x, y] = [parseDecimal(a), parseDecimal(b)]
  if (!x || !y) return false
  return x.units * 10n ** BigInt(y.scale) < y.units * 10n ** BigInt(x.scale)
}

function readText(operand: Operand, json: unknown, path: string): string {
  switch (operand.type) {
    case 'number':
    case 'money':
      return readNumber(json, path)
    case 'time':
      return readTime(json, path)
    case 'boolean':
      if (typeof json === 'boolean') return String(json)
      throw refusal(path, `must be true or false, not ${shown(json)}`)
    case 'email':
      return readString(json, path).trim().toLowerCase()
    default: {
      const text = readString(json, path)
      if (operand.oneOf && !operand.oneOf.includes(text))
        throw unknownName(path, text, 'a value of this field', operand.oneOf)
      return text
    }
  }
}

/** Reads a text that is short enough and can be stored. */
export function readString(json: unknown, path: string): string {
  if (typeof json !== 'string') throw refusal(path, `must be a string, not ${shown(json)}`)
  const length = json.length > LIMITS.textLength ? [...json].length : json.length
  if (length > LIMITS.textLength)
    throw refusal(path, `must have at most ${LIMITS.textLength} characters, not ${length}`)
  if (!json.isWellFormed() || json.includes('\0'))
    throw refusal(path, 'must be well-formed Unicode without NUL')
  return json
}

/** Exponents are for JSON numbers only: "1e999999999" is ten bytes and a gigabyte of digits. */
const DECIMAL = /^[+-]?\d{1,100}(\.\d{1,100})?$/

/** A number written as a decimal string. */
export const isDecimal = (json: unknown): boolean => typeof json === 'string' && DECIMAL.test(json)

function readNumber(json: unknown, path: string): string {
  if (typeof json === 'number' && Number.isFinite(json)) return String(json)
  const digits = decimalOf(json)
  if (digits !== undefined) return digits
  if (typeof json === 'string' && DECIMAL.test(json)) return json
  throw refusal(path, `must be a number or a decimal string, not ${shown(json)}`)
}

const TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d{1,9}))?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i

/**
 * An ISO 8601 time as `YYYY-MM-DD HH:MM:SS.ffffff` in UTC. A date is its midnight, a time without a zone
 * is UTC; beyond microseconds, which no time of the lake has, digits are dropped.
 */
export function readTime(json: unknown, path: string): string {
  const [, day, clock = '00:00', fraction = '', zone = 'Z'] =
    typeof json === 'string' ? (TIME.exec(json) ?? []) : []
  const colon = zone.length > 1 ? `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}` : 'Z'
  const seconds = clock.length === 5 ? `${clock}:00` : clock
  const local = day === undefined ? Number.NaN : Date.parse(`${day}T${seconds}Z`)
  const at = new Date(day === undefined ? Number.NaN : `${day}T${seconds}${colon}`)
  // Date.parse turns 30 February into 1 March and takes 24:00.
  const real = !Number.isNaN(local) && new Date(local).toISOString().startsWith(`${day}T${seconds}`)
  const year = Number.isNaN(at.getTime()) ? 0 : at.getUTCFullYear()
  if (!real || year < 1 || year > 9999)
    throw refusal(path, `must be an ISO 8601 time such as 2026-01-31T00:00:00Z, not ${shown(json)}`)
  return `${at.toISOString().slice(0, 19).replace('T', ' ')}.${fraction.slice(0, 6).padEnd(6, '0')}`
}
