import * as v from 'valibot'
import { fail } from '../errors.ts'
import { shown, step } from '../event/walk.ts'
import { didYouMean } from '../model/nearest.ts'
import type { Schema } from '../op.ts'
import { knownNames } from './known-names.ts'

const NOTHING = v.strictObject({})

/** What stands in front of a problem that is not of one field, and what an unknown name is called. */
const PARTS = {
  path: { whole: 'The path', unknown: 'is not a value of this path' },
  query: { whole: 'The query', unknown: 'is not a parameter of this operation' },
  body: { whole: 'The body', unknown: 'is not a field of this body' },
} as const

/**
 * The parsed value; throws a 400 that names the first field that is wrong. Without a schema nothing is allowed.
 * `called`: names that the caller knows the fields by, where they are others.
 */
export function validated(
  schema: Schema | undefined,
  value: unknown,
  part: keyof typeof PARTS,
  called: Readonly<Record<string, string>> = {},
): unknown {
  const result = v.safeParse(schema ?? NOTHING, value, { abortEarly: true })
  if (result.success) return result.output
  throw fail('bad_request', problemText(result.issues[0], part, schema ?? NOTHING, called))
}

type Issue = v.BaseIssue<unknown>

function problemText(
  issue: Issue,
  part: keyof typeof PARTS,
  schema: Schema,
  called: Readonly<Record<string, string>>,
): string {
  const keys = issue.path?.map((item) => item.key as string | number) ?? []
  const [first] = keys
  if (typeof first === 'string' && Object.hasOwn(called, first)) keys[0] = called[first] as string
  const name = keys.map(step).join('').replace(/^\./, '')
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    const path = issue.path ?? []
    const known = knownNames(
      schema,
      path.slice(0, -1).map(({ key }) => key),
    )
    const hint = hintOf(String(keys.at(-1)), known, path.at(-1)?.input as object)
    return `${keys.length > 1 ? name : shown(String(first))} ${PARTS[part].unknown}${hint}`
  }
  return `${name || PARTS[part].whole} ${requirement(issue)}`
}

const LONGEST_NAME = 80

/** `. Did you mean "limit"? Known: …` of an unknown name; what was sent beside it is not meant. */
export function hintOf(unknown: string, known: readonly string[], sent: object): string {
  if (known.length === 0) return ''
  const others = known.filter((name) => !Object.hasOwn(sent, name))
  return `.${didYouMean(unknown.slice(0, LONGEST_NAME), others)} Known: ${known.join(', ')}`
}

/** The problem in our own words; a schema's own message that starts with "must" or "is" is taken as it is. */
function requirement(issue: Issue): string {
  if (/^(must|is) /.test(issue.message)) return issue.message
  if (issue.received === 'undefined' && issue.kind === 'schema') return 'is required'
  const size = Array.isArray(issue.input) ? 'items' : 'characters'
  const required = String((issue as { requirement?: unknown }).requirement)
  switch (issue.type) {
    case 'to_number':
      return 'must be a number'
    case 'integer':
      return 'must be an integer'
    case 'min_value':
      return `must be at least ${required}`
    case 'max_value':
      return `must be at most ${required}`
    case 'min_length':
      return `must have at least ${required} ${size}`
    case 'max_length':
      return `must have at most ${required} ${size}`
    case 'non_empty':
      return 'must not be empty'
  }
  if (issue.kind === 'schema' && issue.expected) return `must be ${expectation(issue.expected)}`
  return 'is not valid'
}

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  Array: 'a list',
  Object: 'an object',
}

/** `("a" | "b")` becomes `one of a, b`. */
function expectation(expected: string): string {
  const options = expected.replace(/^\(|\)$/g, '').split(' | ')
  const words = options.map((option) => KINDS[option] ?? option.replace(/^"|"$/g, ''))
  if (options.length === 1) return words.join()
  return options.every((option) => option in KINDS || option === 'null')
    ? words.join(' or ')
    : `one of ${words.join(', ')}`
}
