import type { Identified } from '../../access/authenticate.ts'
import { refusal } from '../../access/permit.ts'
import { fail } from '../../errors.ts'
import { shown } from '../../event/walk.ts'
import type { Effect, Op } from '../../op.ts'
import type { Sent } from '../call.ts'
import { checkValues } from '../json.ts'
import { entriesOf, inputSchema, type JsonSchema, outputSchema } from '../json-schema.ts'
import { titleOf } from '../openapi/operation.ts'
import { hintOf } from '../validate.ts'

/** An operation as a tool: what a client lists, and how its flat arguments become a call. */
export interface Tool {
  op: Op
  listed: ListedTool
  /** Throws `bad_request` for what is not an object of the tool's arguments. */
  sent(values: unknown): Sent
}

/** Whether somebody sees a tool and may call it. */
export const isFor = ({ op }: Tool, { caller, brand }: Identified) => !refusal(op, caller, brand)

export interface ListedTool {
  name: string
  title: string
  description: string
  inputSchema: JsonSchema & { type: 'object' }
  outputSchema: JsonSchema & { type: 'object' }
  annotations: {
    title: string
    readOnlyHint: boolean
    destructiveHint: boolean
    idempotentHint: boolean
    openWorldHint: boolean
  }
}

const PARTS = ['path', 'query', 'body'] as const

interface Argument {
  part: (typeof PARTS)[number]
  /** Its name in the operation. */
  field: string
  schema: JsonSchema
}

/** Arguments are named like the fields of the operation; a path's `{id}` is called after its noun. */
export function toolOf(op: Op): Tool {
  const known = new Map<string, Argument>()
  const required: string[] = []
  for (const part of PARTS) {
    const schema = op.input[part]
    if (!schema) continue
    if (Object.keys(entriesOf(schema)).length === 0 && part !== 'body')
      throw new Error(`${op.name}: its ${part} is not an object`)
    const object = inputSchema(schema)
    if (object.type !== 'object') throw new Error(`${op.name}: a tool's ${part} must be an object`)
    for (const [field, property] of Object.entries(object.properties ?? {})) {
      const name = part === 'path' ? pathName(op, field) : field
      if (known.has(name)) throw new Error(`${op.name}: two of its arguments are called ${name}`)
      known.set(name, { part, field, schema: property })
      if (object.required?.includes(field)) required.push(name)
    }
  }
  const properties = Object.fromEntries([...known].map(([name, { schema }]) => [name, schema]))
  return {
    op,
    listed: {
      name: op.name,
      title: titleOf(op.name),
      description: descriptionOf(op),
      inputSchema: {
        type: 'object',
        ...(known.size > 0 && { properties }),
        ...(required.length > 0 && { required }),
        additionalProperties: false,
      },
      outputSchema: { type: 'object', ...outputSchema(op.output) } as ListedTool['outputSchema'],
      annotations: hints(op),
    },
    sent: (values) => sentOf(values, known),
  }
}

/** `/v1/segments/{id}`: the id is called `segment_id`. */
function pathName({ route, name }: Op, field: string): string {
  if (field !== 'id') return field
  const segments = route?.split('/') ?? []
  const noun = segments[segments.indexOf('{id}') - 1]
  if (!noun) throw new Error(`${name}: its id has no noun`)
  return `${singular(noun).replaceAll('-', '_')}_id`
}

const singular = (noun: string) => noun.replace(/ies$/, 'y').replace(/s$/, '')

function descriptionOf({ what, page, rate }: Op): string {
  const pages = page
    ? ` Pages: pass next_cursor as cursor until it is null; limit is at most ${page.max}.`
    : ''
  const limits = rate ? ` At most ${rate.count} calls per ${rate.per}.` : ''
  return what + pages + limits
}

const EFFECTS: Record<string, Effect> = { GET: 'read', POST: 'write', PATCH: 'destroy', DELETE: 'destroy' }

function hints(op: Op): ListedTool['annotations'] {
  const method = op.route?.split(' ')[0] ?? ''
  const effect = op.effect ?? EFFECTS[method] ?? 'destroy'
  return {
    title: titleOf(op.name),
    readOnlyHint: effect === 'read',
    destructiveHint: effect === 'destroy',
    // Writes are not idempotent, by the contract.
    idempotentHint: effect === 'read',
    // Of the brand's own data only.
    openWorldHint: false,
  }
}

function sentOf(values: unknown, known: ReadonlyMap<string, Argument>): Sent {
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    throw fail('bad_request', 'arguments must be an object')
  checkValues(values)
  const parts: Record<Argument['part'], Record<string, unknown>> = { path: {}, query: {}, body: {} }
  const called: Record<string, string> = {}
  for (const [name, value] of Object.entries(values)) {
    const argument = known.get(name)
    if (!argument) {
      const hint = hintOf(name, [...known.keys()], values)
      throw fail('bad_request', `${shown(name)} is not an argument of this tool${hint}`)
    }
    const { part, field, schema } = argument
    parts[part][field] = part === 'body' ? value : written(name, value, schema)
  }
  for (const [name, { part, field }] of known) if (part === 'path') called[field] = name
  return { path: () => parts.path, query: () => parts.query, body: () => parts.body, called }
}

/** A value of a path or query as it would be written in a URL, which is what the schemas read. */
function written(name: string, value: unknown, { type, items }: JsonSchema): string {
  if (type === 'array' && Array.isArray(value)) {
    return value.map((item, at) => written(`${name}[${at}]`, item, (items ?? {}) as JsonSchema)).join(',')
  }
  if (type === 'integer' || type === 'number') {
    if (typeof value === 'number') return String(value)
    throw fail('bad_request', `${name} must be ${type === 'integer' ? 'an integer' : 'a number'}`)
  }
  if (type === 'boolean') {
    if (typeof value === 'boolean') return String(value)
    throw fail('bad_request', `${name} must be true or false`)
  }
  if (typeof value === 'string') return value
  throw fail('bad_request', `${name} must be ${type === 'array' ? 'a list' : 'a string'}`)
}
