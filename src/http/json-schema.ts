import { type ConversionConfig, toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import type { Schema } from '../op.ts'

/** A JSON Schema of draft 2020-12, which is also what OpenAPI 3.1 takes. */
export interface JsonSchema {
  type?: string | string[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  description?: string
  [keyword: string]: unknown
}

/** Takes a schema with a title out of its surroundings; what it returns stands in its place. */
export type Lift = (title: string, content: () => JsonSchema) => JsonSchema

/** What a client sends. Numbers and booleans of a query are numbers and booleans. */
export const inputSchema = (schema: Schema, lift?: Lift) => converted(schema, 'input', lift)

/** What a client gets. */
export const outputSchema = (schema: Schema, lift?: Lift) => converted(schema, 'output', lift)

/** The names and schemas of an object's fields; nothing for what is not an object. */
export const entriesOf = (schema: Schema | undefined): Record<string, Schema> =>
  schema && 'entries' in schema ? (schema.entries as Record<string, Schema>) : {}

/** Actions that a JSON Schema cannot say and that leave its type as it is; the words around them do say it. */
const UNSAID = [
  'trim',
  'to_lower_case',
  'to_upper_case',
  'check',
  'raw_check',
  'partial_check',
  'transform',
  'readonly',
  'brand',
]

type Mode = 'input' | 'output'

function converted(schema: Schema, typeMode: Mode, lift?: Lift, isLifted = false): JsonSchema {
  const config: ConversionConfig = {
    target: 'draft-2020-12',
    typeMode,
    ignoreActions: UNSAID,
    overrideSchema: ({ valibotSchema, jsonSchema }) => {
      const schema: unknown = valibotSchema
      const json = isStandIn(schema) ? schema.json : tidied(valibotSchema.type, jsonSchema as JsonSchema)
      return json as typeof jsonSchema
    },
  }
  const lifted =
    lift && ((title: string, found: Schema) => lift(title, () => converted(found, typeMode, lift, true)))
  const { $schema: _, ...result } = toJsonSchema(prepared(schema, lifted, isLifted) as Schema, config)
  return result as JsonSchema
}

/** In place of a schema that says itself what its JSON Schema is; the converter knows no such kind. */
interface StandIn {
  kind: 'schema'
  type: 'stand_in'
  json: JsonSchema
}

const standIn = (json: JsonSchema): StandIn => ({ kind: 'schema', type: 'stand_in', json })
const isStandIn = (schema: unknown): schema is StandIn => (schema as StandIn).type === 'stand_in'

type Item = v.PipeItem<unknown, unknown, v.BaseIssue<unknown>>

/** A copy of a schema in which pieces with a JSON Schema of their own, and those to be lifted, are stand-ins. */
function prepared(
  schema: Schema,
  lift: ((title: string, schema: Schema) => JsonSchema) | undefined,
  isLifted = false,
): Schema | StandIn {
  const inside = (inner: unknown) => prepared(inner as Schema, lift)
  if ('pipe' in schema) {
    const items = flat(schema.pipe as Item[])
    const title = items.find((item) => item.type === 'title') as { title: string } | undefined
    if (lift && title && !isLifted) return standIn(lift(title.title, schema))
    const at = items.findLastIndex((item) => ownJson(item) !== undefined)
    const own = items[at]
    const pipe = own
      ? [standIn(ownJson(own) as JsonSchema), ...items.slice(at + 1)]
      : items.map((item) => (item.kind === 'schema' ? inside(item) : item))
    return { ...schema, pipe } as unknown as Schema
  }
  const copy: Record<string, unknown> = { ...schema }
  if ('entries' in schema) {
    const entries = Object.entries(schema.entries as object).map(([name, entry]) => [name, inside(entry)])
    copy.entries = Object.fromEntries(entries)
  }
  for (const part of ['item', 'wrapped', 'value', 'rest']) {
    if (part in schema && typeof copy[part] === 'object') copy[part] = inside(copy[part])
  }
  for (const part of ['items', 'options']) {
    const parts = copy[part]
    if (Array.isArray(parts) && typeof parts[0] === 'object') copy[part] = parts.map(inside)
  }
  return copy as unknown as Schema
}

const flat = (pipe: readonly Item[]): Item[] =>
  pipe.flatMap((item) => ('pipe' in item ? flat(item.pipe as Item[]) : item))

/** Of `v.metadata({ jsonSchema })`. */
function ownJson(item: Item): JsonSchema | undefined {
  if (item.type !== 'metadata') return undefined
  return (item as unknown as { metadata: { jsonSchema?: JsonSchema } }).metadata.jsonSchema
}

/** The same in fewer words; and defaults of a query, which valibot has as text, in their own type. */
function tidied(type: string, schema: JsonSchema): JsonSchema {
  const { propertyNames, ...result } = schema
  if (result.required?.length === 0) delete result.required
  if (type === 'nullable') return nullable(result)
  if (typeof result.default === 'string') {
    if (result.type === 'integer' || result.type === 'number') result.default = Number(result.default)
    if (result.type === 'boolean') result.default = result.default === 'true'
  }
  return result
}

/** `type: [string, null]` where that says it. */
function nullable({ anyOf, ...rest }: JsonSchema): JsonSchema {
  const [inner] = anyOf as [JsonSchema]
  if (typeof inner.type !== 'string' || 'const' in inner) return { anyOf, ...rest }
  const values = inner.enum ? { enum: [...(inner.enum as unknown[]), null] } : {}
  return { ...inner, ...values, ...rest, type: [inner.type, 'null'] }
}
