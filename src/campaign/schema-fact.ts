import { isObject } from '../event/exact.ts'
import { IDENTIFYING } from '../lake/new-events.ts'
import type { FieldType } from '../segment/operators.ts'
import type { Fact } from './trigger.ts'
import { labelOf } from './variable.ts'

type Schema = Record<string, unknown>

const NAME = /^[A-Za-z_]\w{0,63}$/
const PLAIN: readonly string[] = ['string', 'number', 'boolean'] satisfies FieldType[]

/** The plain values that a payload has by its schema, at its top level, and its event too: channels it is without. */
export function factsOfSchema({ properties }: Schema, channels: readonly unknown[]): Record<string, Fact> {
  if (!isObject(properties)) return {}
  const facts = Object.entries(properties).flatMap(([name, schema]): [string, Fact][] => {
    if (!NAME.test(name) || !isObject(schema)) return []
    if (IDENTIFYING.includes(name) || channels.includes(name)) return []
    const type = factType(schema)
    if (!type) return []
    const { description } = schema
    const help = typeof description === 'string' && description !== '' ? description : labelOf(name)
    return [[name, { type, help }]]
  })
  return Object.fromEntries(facts)
}

/** Values of several plain types are read as texts. */
function factType(schema: Schema): FieldType | undefined {
  const types = [...(typesOf(schema) ?? [])].filter((type) => type !== 'null')
  if (types.length === 0 || !types.every((type) => PLAIN.includes(type))) return undefined
  const [type, ...others] = types as FieldType[]
  if (others.length > 0) return 'string'
  return type === 'string' && isTime(schema) ? 'time' : type
}

/** The types of the values that a schema allows, as far as its own words and its alternatives say; null: any. */
function typesOf(schema: unknown): ReadonlySet<string> | null {
  if (!isObject(schema)) return null
  const { type, enum: values, const: only } = schema
  const said = [
    type === undefined ? null : new Set((Array.isArray(type) ? type : [type]).map(nameOf)),
    Array.isArray(values) ? new Set(values.map(typeOfValue)) : null,
    Object.hasOwn(schema, 'const') ? new Set([typeOfValue(only)]) : null,
    ...alternativesOf(schema).map(eitherOf),
  ].filter((types) => types !== null)
  return said.length === 0 ? null : said.reduce(both)
}

const both = (one: ReadonlySet<string>, other: ReadonlySet<string>): Set<string> =>
  new Set([...one].filter((type) => other.has(type)))

function eitherOf(alternatives: readonly unknown[]): Set<string> | null {
  const each = alternatives.map(typesOf)
  return each.every((types) => types !== null) ? new Set(each.flatMap((types) => [...types])) : null
}

const alternativesOf = ({ anyOf, oneOf }: Schema): unknown[][] =>
  [anyOf, oneOf].filter((alternatives) => Array.isArray(alternatives))

/** Of a text: that it is one, or that every alternative but null says so. */
const isTime = (schema: Schema): boolean =>
  schema.format === 'date-time' ||
  alternativesOf(schema).some((alternatives) =>
    alternatives.every((one) => isObject(one) && (isNull(one) || isTime(one))),
  )

const isNull = (schema: Schema): boolean => [...(typesOf(schema) ?? [''])].every((type) => type === 'null')

const nameOf = (type: unknown): string => (type === 'integer' ? 'number' : String(type))

const typeOfValue = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
