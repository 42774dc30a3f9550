import { didYouMean } from './nearest.ts'

/** What the comment lines at the top of a model say about it. */
export interface Header {
  what: string
  /** Columns whose values together occur once and are never null. */
  grain: string[]
  /** When its rows are computed, in words. */
  refresh: string
  /** customer: the rows of a customer follow from that customer's rows alone, so that they can be made anew alone. */
  by?: 'customer'
  /** sales: the rows follow from what was sold, and to whom, so that they stay while nothing of that changes. */
  of?: 'sales'
  /** What each row comes from: where that has no rows, there are none. */
  from?: From
  /** Column with the time of the customer's latest event: all that a row has of the customer's events. */
  seen?: string
  /** Columns of texts that hardly repeat: published as they are, since to look for what repeats takes longest. */
  plain?: string[]
}

/** A relation that a model reads, or those rows of a source for which a condition holds. */
export interface From {
  relation: string
  where?: string
}

const KEYS = ['what', 'grain', 'refresh', 'by', 'of', 'from', 'seen', 'plain']

/**
 * Reads `-- key: text` lines down to the first other line; every key once, no others. Comments about the SQL
 * follow after an empty line.
 */
export function readHeader(file: string, text: string): Header {
  const found = new Map<string, string>()
  for (const line of text.split('\n')) {
    if (!line.startsWith('--')) break
    const [, key, value] = /^--\s*([^\s:]+):\s*(.*?)\s*$/.exec(line) ?? []
    if (key === undefined || value === undefined)
      throw new Error(`${file}: "${line}" in the header is not of the form "-- key: text"`)
    if (!KEYS.includes(key))
      throw new Error(
        `${file}: "${key}" is not a header key.${didYouMean(key, KEYS)} Known: ${KEYS.join(', ')}`,
      )
    if (found.has(key)) throw new Error(`${file}: header key "${key}" occurs twice`)
    if (value === '') throw new Error(`${file}: header key "${key}" has no text`)
    found.set(key, value)
  }
  return {
    what: required(file, found, 'what'),
    grain: columnsIn(required(file, found, 'grain')),
    refresh: required(file, found, 'refresh'),
    ...by(file, found.get('by')),
    ...of(file, found.get('of')),
    ...from(file, found.get('from')),
    ...seen(file, found),
    ...plain(found.get('plain')),
  }
}

const columnsIn = (value: string): string[] => value.split(',').map((column) => column.trim())

const plain = (value: string | undefined): Pick<Header, 'plain'> =>
  value === undefined ? {} : { plain: columnsIn(value) }

function by(file: string, value: string | undefined): Pick<Header, 'by'> {
  if (value === undefined) return {}
  if (value !== 'customer') throw new Error(`${file}: header key "by" can be "customer" only, not "${value}"`)
  return { by: value }
}

function of(file: string, value: string | undefined): Pick<Header, 'of'> {
  if (value === undefined) return {}
  if (value !== 'sales') throw new Error(`${file}: header key "of" can be "sales" only, not "${value}"`)
  return { of: value }
}

function from(file: string, value: string | undefined): Pick<Header, 'from'> {
  if (value === undefined) return {}
  const [, relation, where] = /^([a-z][a-z0-9_]*)(?:\s+where\s+(.+))?$/.exec(value) ?? []
  if (relation === undefined)
    throw new Error(
      `${file}: header key "from" is a relation, or "<source> where <condition>", not "${value}"`,
    )
  return { from: { relation, ...(where !== undefined && { where }) } }
}

function seen(file: string, found: Map<string, string>): Pick<Header, 'seen'> {
  const column = found.get('seen')
  if (column === undefined) return {}
  if (!found.has('by')) throw new Error(`${file}: header key "seen" is for models by customer`)
  return { seen: column }
}

function required(file: string, found: Map<string, string>, key: string): string {
  const value = found.get(key)
  if (value === undefined)
    throw new Error(`${file}: header key "${key}" is missing; add a line "-- ${key}: …" at the top`)
  return value
}
