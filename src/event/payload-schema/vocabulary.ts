import { isInteger, isObject, numberOf } from '../exact.ts'
import { patternOf } from './pattern.ts'

/** 2020-12 unless `$schema` says draft-07. */
export type Dialect = '2020-12' | 'draft-07'

export type Schema = boolean | { readonly [keyword: string]: unknown }

/** The subschemas within a keyword's value, each with the rest of its path. */
type Kind = 'schema' | 'schemas' | 'named' | 'items' | 'dependencies'

interface Keyword {
  /** Subschemas in its value. */
  holds?: Kind
  /** They see the same value as the schema that they are in. */
  inPlace?: boolean
  /** In one dialect only, and what to write in the other. */
  only?: Dialect
  instead?: string
  /** What is wrong with a value of it, in words that follow its path. */
  problem?(value: unknown): string | null
}

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.every((one) => typeof one === 'string') &&
  new Set(value).size === value.length

const must =
  (says: string, holds: (value: unknown) => boolean): Keyword['problem'] =>
  (value) =>
    holds(value) ? null : `must be ${says}`

const count: Keyword = {
  problem: must('an integer of at least 0', (value) => {
    const number = numberOf(value)
    return number !== undefined && isInteger(number) && number >= 0
  }),
}
const number: Keyword = { problem: must('a number', (value) => numberOf(value) !== undefined) }
const text: Keyword = { problem: must('a string', (value) => typeof value === 'string') }
const flag: Keyword = { problem: must('true or false', (value) => typeof value === 'boolean') }
const anything: Keyword = {}
const named = (more: Partial<Keyword> = {}): Keyword => ({
  holds: 'named',
  problem: must('an object of schemas', isObject),
  ...more,
})
const list = (more: Partial<Keyword> = {}): Keyword => ({
  holds: 'schemas',
  problem: must('a list of at least one schema', (value) => Array.isArray(value) && value.length > 0),
  ...more,
})
const inPlace: Keyword = { holds: 'schema', inPlace: true }
const modern = { only: '2020-12' } as const
const old = (instead: string) => ({ only: 'draft-07', instead }) as const

/** Every keyword that says something of data, of the schema, or to its readers; others are annotations. */
export const VOCABULARY: ReadonlyMap<string, Keyword> = new Map(
  Object.entries({
    $schema: text,
    $id: text,
    $ref: text,
    $comment: text,
    $defs: named(),
    definitions: named(),
    $anchor: { ...text, ...modern },
    $dynamicAnchor: { ...text, ...modern },
    $dynamicRef: { ...text, ...modern },

    title: text,
    description: text,
    default: anything,
    examples: { problem: must('a list', Array.isArray) },
    deprecated: flag,
    readOnly: flag,
    writeOnly: flag,
    format: text,
    contentEncoding: text,
    contentMediaType: text,
    contentSchema: { holds: 'schema', ...modern },

    type: {
      problem: (value) =>
        (typeof value === 'string' || (isTexts(value) && value.length > 0)) &&
        [value].flat().every((one) => TYPES.includes(one as string))
          ? null
          : `must be one or more of ${TYPES.join(', ')}`,
    },
    enum: {
      problem: must('a list of at least one value', (value) => Array.isArray(value) && value.length > 0),
    },
    const: anything,

    multipleOf: { problem: must('a number over 0', (value) => (numberOf(value) ?? 0) > 0) },
    maximum: number,
    exclusiveMaximum: number,
    minimum: number,
    exclusiveMinimum: number,

    maxLength: count,
    minLength: count,
    pattern: {
      problem: (value) => {
        if (typeof value !== 'string') return 'must be a string'
        const pattern = patternOf(value)
        return 'problem' in pattern ? pattern.problem : null
      },
    },

    maxItems: count,
    minItems: count,
    uniqueItems: flag,
    contains: { holds: 'schema' },
    maxContains: { ...count, ...modern },
    minContains: { ...count, ...modern },
    prefixItems: list(modern),
    items: { holds: 'items' },
    additionalItems: { holds: 'schema', ...old('prefixItems with items') },
    unevaluatedItems: { holds: 'schema', ...modern },

    maxProperties: count,
    minProperties: count,
    required: { problem: must('a list of different names', isTexts) },
    properties: named(),
    patternProperties: named({
      problem: (value) => {
        if (!isObject(value)) return 'must be an object of schemas'
        for (const key of Object.keys(value)) {
          const pattern = patternOf(key)
          if ('problem' in pattern) return `has a pattern that ${pattern.problem}`
        }
        return null
      },
    }),
    additionalProperties: { holds: 'schema' },
    propertyNames: { holds: 'schema' },
    unevaluatedProperties: { holds: 'schema', ...modern },
    dependentRequired: {
      problem: must(
        'an object of lists of names',
        (value) => isObject(value) && Object.values(value).every(isTexts),
      ),
      ...modern,
    },
    dependentSchemas: named({ inPlace: true, ...modern }),
    dependencies: {
      holds: 'dependencies',
      inPlace: true,
      problem: must('an object', isObject),
      ...old('dependentRequired or dependentSchemas'),
    },

    allOf: list({ inPlace: true }),
    anyOf: list({ inPlace: true }),
    oneOf: list({ inPlace: true }),
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword
    then: inPlace,
    not: inPlace,
    if: inPlace,
    else: inPlace,
  } satisfies Record<string, Keyword>),
)

export interface Place {
  schema: unknown
  /** Keys behind the keyword, if any. */
  steps: readonly (string | number)[]
}

/** The subschemas in the value of a keyword. */
export function subschemas(kind: Kind | undefined, value: unknown): Place[] {
  switch (kind) {
    case undefined:
      return []
    case 'schema':
      return [{ schema: value, steps: [] }]
    case 'items':
      return Array.isArray(value) ? subschemas('schemas', value) : subschemas('schema', value)
    case 'schemas':
      return (value as unknown[]).map((schema, index) => ({ schema, steps: [index] }))
    case 'named':
      return Object.entries(value as object).map(([name, schema]) => ({ schema, steps: [name] }))
    case 'dependencies':
      return subschemas('named', value).filter(({ schema }) => !isTexts(schema))
  }
}
