import * as v from 'valibot'
import type { Page } from './op.ts'
import { parseTime } from './time.ts'

/**
 * Pieces of operation schemas. A message continues the name of its field ("limit" + "must be at most 100").
 * What a JSON Schema cannot be read from (checks, transformations) carries its own in its metadata.
 */
const jsonSchema = <Value>(schema: Readonly<Record<string, unknown>>) =>
  v.metadata<Value, { jsonSchema: typeof schema }>({ jsonSchema: schema })

const matching = (pattern: RegExp, message: string) => v.pipe(v.string(message), v.regex(pattern, message))

// Input

/** What is not there to be seen: white space, controls, and characters without a form of their own, such as U+200B. */
const UNSEEN = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}]*$/u

/** Whether nothing of a text can be seen. */
export const isBlank = (value: string): boolean => UNSEEN.test(value)

const UUID = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/

/** A UUID in a path, query or body; lower-cased. */
export const uuid = v.pipe(
  matching(UUID, 'must be a UUID'),
  v.toLowerCase(),
  jsonSchema({ type: 'string', format: 'uuid' }),
)

/** Text of so many characters (code points, as JSON Schema counts them); where some are needed, not only blanks. */
export const text = ({ min = 0, max }: { min?: number; max: number }) => {
  const range = min > 0 ? `must be ${min} to ${max} characters` : `must be at most ${max} characters`
  return v.pipe(
    v.string('must be a string'),
    v.check((value) => {
      const length = [...value].length
      return length >= min && length <= max
    }, range),
    v.check((value) => min === 0 || !isBlank(value), `${range}, not only blanks`),
    jsonSchema({ type: 'string', ...(min > 0 ? { minLength: min } : {}), maxLength: max }),
  )
}

/** A value of a path that can be anything. */
export const pathValue = v.pipe(
  v.string(),
  v.check((value) => value.trim() !== '', 'must not be empty'),
  jsonSchema({ type: 'string', minLength: 1 }),
)

/** An ISO 8601 time, read as rules and events are: a date is its midnight in UTC, a time without a zone is UTC. Becomes a Date. */
export const timestamp = v.pipe(
  v.string('must be a string'),
  v.transform(timeOf),
  v.date('must be an ISO 8601 time, such as 2026-11-30T08:15:00Z'),
  jsonSchema({
    type: 'string',
    format: 'date-time',
    description: 'ISO 8601: a date is its midnight in UTC, a time without a zone is UTC.',
  }),
)

/** The end of a range that has it. */
export const lastInstant = v.pipe(
  timestamp,
  jsonSchema({
    type: 'string',
    format: 'date-time',
    description: 'Up to this instant. A date is its first one, in UTC: for all of a day say its last second.',
  }),
)

/** Also with a space for the T, as people type it. */
function timeOf(text: string): Date | undefined {
  const at = parseTime(Buffer.from(text.replace(/^(.{10}) /, '$1T')))
  // A zone can carry it into the year 10000, which Postgres and DuckDB read as something else.
  return Number.isNaN(at) || at > LAST_TIME ? undefined : new Date(at)
}

const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

const DAY = /^\d{4}-\d\d-\d\d$/

/** A day such as 2026-11-30. */
export const day = v.pipe(
  v.string('must be a string'),
  v.check((value) => DAY.test(value) && timeOf(value) !== undefined, 'must be a date such as 2026-11-30'),
  jsonSchema({ type: 'string', format: 'date' }),
)

const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/

/** A shop or storefront domain; lower-cased. */
export const domain = v.pipe(
  v.string('must be a string'),
  v.trim(),
  v.toLowerCase(),
  v.regex(DOMAIN, 'must be a domain name such as shop.example.com'),
  jsonSchema({ type: 'string', format: 'hostname', maxLength: 253 }),
)

/** An integer in a query. Over `max` it is refused or clamped; below `min` too, refused unless said. */
export const queryInteger = ({
  min,
  max,
  over = 'refuse',
  under,
}: {
  min: number
  max: number
  over?: Page['over']
  under?: Page['under']
}) =>
  v.pipe(
    matching(/^[+-]?\d+$/, 'must be an integer'),
    v.transform(Number),
    v.transform((value) => (under === 'clamp' ? Math.max(value, min) : value)),
    v.minValue(min, `must be at least ${min}`),
    v.transform((value) => (over === 'clamp' ? Math.min(value, max) : value)),
    v.maxValue(max, `must be at most ${max}`),
    jsonSchema({
      type: 'integer',
      ...(under ? {} : { minimum: min }),
      ...(over === 'refuse' ? { maximum: max } : {}),
    }),
  )

/** true or false in a query. */
export const queryBoolean = v.pipe(
  v.picklist(['true', 'false'], 'must be true or false'),
  v.transform((value) => value === 'true'),
  jsonSchema({ type: 'boolean' }),
)

const elements = <const Item extends v.GenericSchema<string, string>>(
  item: Item,
  items: object,
  max: number,
) =>
  v.pipe(
    v.string('must be a list'),
    v.transform((value) => value.split(',').flatMap((one) => one.trim() || [])),
    v.array(item),
    v.transform((values) => [...new Set(values)]),
    v.nonEmpty('must not be empty'),
    v.maxLength(max, `must have at most ${max} items`),
    jsonSchema({ type: 'array', items, minItems: 1, maxItems: max }),
  )

/** Lists in a query, written with commas or given again and again; an element counts once. */
export const queryTexts = ({ max }: { max: number }) => elements(v.string(), { type: 'string' }, max)
export const queryIds = ({ max }: { max: number }) => elements(uuid, { type: 'string', format: 'uuid' }, max)

/** Query parameters of a list: `limit` as its page rule says, and `cursor`. */
export const paging = ({ default: size, max, over, under }: Page) => ({
  limit: v.optional(queryInteger({ min: 1, max, over, under }), String(size)),
  cursor: v.optional(v.pipe(v.string(), v.nonEmpty('must not be empty'))),
})

// What TypeScript does not know of yet.
const { isRawJSON } = JSON as unknown as { isRawJSON(value: unknown): boolean }

/** An object with whatever names and values. */
export const jsonObject = v.pipe(
  v.unknown(),
  // Before it is read as a record, which makes one of a list, too, and of an integer beyond 2^53 that kept its digits.
  v.check((value) => !Array.isArray(value) && !isRawJSON(value), 'must be an object'),
  v.record(v.string(), v.unknown(), 'must be an object'),
  jsonSchema({ type: 'object', additionalProperties: {} }),
)

// Output

export const id = v.pipe(v.string(), v.uuid())
/** ISO 8601 in UTC. */
export const time = v.pipe(v.string(), v.isoTimestamp())
/** A decimal string; its currency stands beside it. */
export const money = v.pipe(v.string(), v.regex(/^-?\d+\.\d{2}$/))
export const currencyCode = v.pipe(v.string(), v.regex(/^[A-Z]{3}$/))
export const count = v.pipe(v.number(), v.integer(), v.minValue(0))
export const texts = v.array(v.string())

/** An object that the OpenAPI document knows by name; of one name there is one schema. */
export const named = <const Entries extends v.ObjectEntries>(title: string, entries: Entries) =>
  v.pipe(v.object(entries), v.title(title))

/** The envelope of every REST list. */
export const list = <const Item extends v.GenericSchema>(item: Item) =>
  v.object({ data: v.array(item), next_cursor: v.nullable(v.string()) })
